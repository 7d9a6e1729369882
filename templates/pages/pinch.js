// Two fingers that move apart or together on a chart choose a part of it: what was below them is below them again.
function pinched(plot, show) {
  let held = null, part = null;
  const places = (touches) => {
    const { left, width } = plot.over.getBoundingClientRect();
    return [...touches].map((touch) => (touch.clientX - left) / width);
  };
  plot.over.addEventListener("touchstart", (event) => {
    const { min, max } = plot.scales.x;
    held = event.touches.length === 2 ? places(event.touches).map((place) => min + place * (max - min)) : null;
    part = null;
  });
  plot.over.addEventListener("touchmove", (event) => {
    if (!held || event.touches.length !== 2) return;
    event.preventDefault(); // the page is not moved
    const [one, other] = places(event.touches), span = (held[1] - held[0]) / (other - one);
    if (span > 0 && Number.isFinite(span)) part = [held[0] - one * span, held[0] + (1 - one) * span];
  }, { passive: false });
  plot.over.addEventListener("touchend", () => {
    if (part) show(...part);
    held = part = null;
  });
}
