// The Worker's log is JSON for programs. In a terminal a fault is one line, and one failure is one fault.
const sameMs = 5_000

function faultIn(line) {
  const at = line.indexOf('{"level":"error","event":"fault"')
  if (at < 0) return undefined
  // In front of it stands at most a mark of the program that passes it on.
  if (!/^(\S{1,3} \[ERROR\] )?$/.test(line.slice(0, at))) return undefined
  try {
    return JSON.parse(line.slice(at))
  } catch {
    return undefined
  }
}

const lineOf = ({ at = '', code, name, message = '', detail, frames = [], causes = [] }) => {
  const more = [detail, ...causes.map((one) => one.message)].filter(
    (text) => text && text !== message,
  )
  const [why] = more
  const place = /\(?((?:src|plugins)\/[^\s():]+:\d+)/.exec(frames.join(' '))?.[1]
  return [
    at.slice(11, 19),
    'ERROR',
    `${code ?? name ?? 'fault'}:`,
    message,
    why && `(${why})`,
    place && `at ${place}`,
  ]
    .filter(Boolean)
    .join(' ')
    .replace(/\s+/g, ' ')
}

/**
 * Lines as a person reads them. Where a failure is told a second time, by the answer that it became, the second is
 * left out.
 *
 * @returns What takes a line, and answers it or `undefined`.
 */
export function createFaultReader() {
  let last
  return (line) => {
    const fault = faultIn(line)
    if (!fault) return line
    const { code, message, requestId } = fault
    const atMs = Date.parse(fault.at)
    const isSame =
      requestId !== undefined &&
      last?.code === code &&
      last.message === message &&
      Math.abs(atMs - last.atMs) < sameMs
    if (isSame) {
      last = undefined
      return undefined
    }
    last = requestId === undefined ? { code, message, atMs } : undefined
    return lineOf(fault)
  }
}
