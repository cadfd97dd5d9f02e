"""Training of Sonant's starter voice: a small codec and language model in the MOSS-TTS-Nano architecture."""
