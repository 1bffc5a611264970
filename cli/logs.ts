// isola logs: what the local server said; of a deployment, its record.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createFaultReader } from '../scripts/start/readable-fault.mjs'
import { logPath } from '../scripts/start/server-log.mjs'
import { isClone } from '../scripts/toolchain.mjs'
import audit, { checkTail, line, sleepUntil, untilStopped } from './audit.ts'
import { command, type Context } from './command.ts'
import { findServer } from './connection.ts'
import { flag, text, type ValuesOf } from './options.ts'
import { jsonText, shown } from './text.ts'

const options = {
  follow: flag('go on with what comes, until Ctrl-C', { short: 'f' }),
  tail: text('n', 'so many lines, 1 to 500; 100 unless set'),
}
type Logging = Context<ValuesOf<typeof options>>

const everyMs = 500

const linesOf = (text: string) => text.split('\n').filter(Boolean)
/** Half a line is read when it is whole. */
const wholeLinesOf = (text: string) => text.slice(0, text.lastIndexOf('\n') + 1)

/** A line of the file is when, and what was said: for a person a fault is one line, for a program all of it. */
function createTeller({ isJson, stdout }: Logging) {
  const read = createFaultReader()
  return (kept: string) => {
    const [at = '', ...words] = kept.split(' ')
    const said = words.join(' ')
    if (isJson) return stdout.write(`${jsonText({ at, text: said })}\n`)
    const text = read(said)
    if (text === undefined) return undefined
    return stdout.write(`${shown(text === said ? kept : `${at.slice(0, 10)} ${text}`)}\n`)
  }
}

const textFrom = (path: string, from = 0) =>
  existsSync(path) ? readFileSync(path).subarray(from).toString('utf8') : ''

async function ofThisMachine(context: Logging, path: string, tail: number) {
  const tell = createTeller(context)
  const { values, signal, sleep = sleepUntil } = context
  const before = textFrom(`${path}.1`)
  const text = textFrom(path)
  const now = values.follow ? wholeLinesOf(text) : text
  // Up to what was read, not to a size that was looked up at another moment: the server writes meanwhile.
  let readTo = Buffer.byteLength(now)
  linesOf(before + now)
    .slice(-tail)
    .forEach(tell)
  if (!values.follow) return
  await untilStopped(signal, async (signal) => {
    while (!signal.aborted) {
      await sleep(everyMs, signal)
      const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
      // A new file has begun: what the old one had last is in the one beside it.
      const isNew = size < readTo
      if (isNew) linesOf(textFrom(`${path}.1`, readTo)).forEach(tell)
      const from = isNew ? 0 : readTo
      const whole = wholeLinesOf(textFrom(path, from))
      readTo = from + Buffer.byteLength(whole)
      linesOf(whole).forEach(tell)
    }
  })
}

/** The record, oldest first as a log is. */
async function ofDeployment(context: Logging, limit: string) {
  const { ask, isJson, stdout, values } = context
  if (values.follow)
    return audit.verbs.list.run({ ...context, values: { follow: true, tail: limit } } as never)
  const { records } = await ask('GET /api/operator/audit', { order: 'desc', limit })
  for (const record of records.toReversed())
    stdout.write(`${isJson ? jsonText(record) : shown(line(record))}\n`)
  return undefined
}

async function run(context: Logging) {
  const { env, values } = context
  const { tail = '100' } = values
  checkTail(tail)
  if (!isClone || !findServer(env).isLocal) return ofDeployment(context, tail)
  const path = logPath(env)
  if (!existsSync(path) && !values.follow)
    throw new Error(
      `${path} has no warnings and no errors: no server ran there, or all went well. ISOLA_STATE names another folder.`,
    )
  return ofThisMachine(context, path, Number(tail))
}

export default command('logs', {
  about:
    'What the local server said, oldest first (server.log in ISOLA_STATE); of a deployment its record, which ' +
    'operators and auditors may read.',
  options,
  run,
})
