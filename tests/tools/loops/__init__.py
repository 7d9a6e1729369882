"""Random logs of training loops as people write them, whose truth a simulated clock knows; read by perflog and judged."""
