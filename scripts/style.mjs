// Whether output has colour. Node builtins only: `npm start` loads it before packages are installed.

/** Whether colour may go to a stream: what the person set comes first, then what the stream is. */
export function hasColour(stream, env = process.env) {
  // https://force-color.org and https://no-color.org; set to nothing is not set.
  if (env.FORCE_COLOR) return !/^(0|false)$/.test(env.FORCE_COLOR)
  if (env.NO_COLOR || env.TERM === 'dumb') return false
  return stream?.isTTY === true
}
