"""Speech to text outside a pipeline: local Whisper models and transcription endpoints."""
