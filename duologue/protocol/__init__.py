"""The wire format between bots and bridge: messages, frames and request bookkeeping, without sockets."""
