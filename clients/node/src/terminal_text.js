// Makes text that somebody else wrote fit for a terminal.

const PICTURES = 0x2400; // U+2400 SYMBOL FOR NULL, in the order of the controls
const REPLACEMENT = '\uFFFD';
// Controls except newline and tab, carriage returns before newlines, controls of direction.
const HARMFUL = /\r(?=\n)|[\0-\x08\x0B-\x1F\x7F-\x9F\u202A-\u202E\u2066-\u2069]/g;

function harmless(match, offset, text) {
  const code = match.charCodeAt(0);
  if (match === '\r' && text[offset + 1] === '\n') return '';
  if (code < 0x20) return String.fromCharCode(PICTURES + code);
  return code === 0x7f ? '\u2421' : REPLACEMENT;
}

export function sanitized(text) {
  return text.replace(HARMFUL, harmless);
}
