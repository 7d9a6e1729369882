"""An extraction in, a picture out."""
