"""Asking a language model about an attempt: prompt, request, reply, cache, agreement of two judges."""
