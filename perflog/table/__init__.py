"""Tables of published reports, made from cases: what stands where (grid), how it looks (style), the text."""
