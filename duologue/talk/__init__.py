"""A person in a browser who takes one side of a call: sound over WebRTC, tools and state on a page."""
