"use strict";
// The words typed into a box, each as a pattern: a word is found where a word begins (amp is not in samples), and a whole
// number as a number (8 is not in 48.4).
function wordsOf(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const quoted = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    if (/^\d+$/.test(word)) return new RegExp(`(?<![a-z0-9.])${quoted}(?![a-z0-9]|\\.\\d)`);
    return new RegExp(/^[a-z0-9]/.test(word) ? `(?<![a-z0-9])${quoted}` : quoted);
  });
}
