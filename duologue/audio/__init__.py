"""PCM on numpy: resampling, mixing, recording, speech edges."""
