// Colour, for a terminal that shows it and nobody else.

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 }

/** Whether colour may go to a stream: what the person set comes first, then what the stream is. */
export function hasColour(stream, env = process.env) {
  // https://force-color.org and https://no-color.org; set to nothing is not set.
  if (env.FORCE_COLOR) return !/^(0|false)$/.test(env.FORCE_COLOR)
  if (env.NO_COLOR || env.TERM === 'dumb') return false
  return stream?.isTTY === true
}

/**
 * Functions that colour text for one stream: `bold`, `dim`, `red`, `green`, `yellow`, `cyan`. Without colour they return
 * the text as it is. What others wrote goes through `shown` first: afterwards it would lose the colour.
 */
export function createStyle(stream, env = process.env) {
  const isOn = hasColour(stream, env)
  const paint = (code) => (text) => (isOn ? `\u001b[${code}m${text}\u001b[0m` : String(text))
  return Object.fromEntries(Object.entries(codes).map(([name, code]) => [name, paint(code)]))
}
