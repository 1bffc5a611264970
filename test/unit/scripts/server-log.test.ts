import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createFaultReader } from '../../../scripts/start/readable-fault.mjs'
import { createServerLog, logPath } from '../../../scripts/start/server-log.mjs'

let folder = ''
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'isola-log-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))
const now = () => new Date(0)

describe('what the local server said', () => {
  it('is in ISOLA_STATE, for its owner alone, each line with its time', () => {
    const path = logPath({ ISOLA_STATE: join(folder, 'state') })
    expect(path).toBe(join(folder, 'state', 'server.log'))
    expect(logPath({})).toMatch(/\.wrangler\/state\/server\.log$/)
    const keep = createServerLog(path, { now })
    for (const line of ['one', '', '  ', 'two']) keep(line)
    expect(readFileSync(path, 'utf8')).toBe(
      '1970-01-01T00:00:00.000Z one\n1970-01-01T00:00:00.000Z two\n',
    )
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it.each([
    ['many lines', Array.from({ length: 400 }, (_, n) => `line ${n}`)],
    ['lines longer than a file', ['x'.repeat(5_000), 'y'.repeat(50_000), 'z']],
    ['text of several bytes a character', Array.from({ length: 60 }, () => '日本語'.repeat(20))],
  ])('is bounded: %s are in two files at most', (_, lines) => {
    const path = join(folder, 'server.log')
    const keep = createServerLog(path, { maxBytes: 2_000, now })
    lines.forEach(keep)
    const sizes = [path, `${path}.1`].map((one) => (existsSync(one) ? statSync(one).size : 0))
    // One line may be longer than a file: it is cut at 16,384 characters.
    const longest = Math.max(...lines.map((line) => Buffer.byteLength(line.slice(0, 16_384)))) + 30
    for (const size of sizes) expect(size).toBeLessThanOrEqual(Math.max(2_000, longest))
    expect(readFileSync(path, 'utf8')).toContain(lines.at(-1)!)
  })

  it('goes on with a file that is there', () => {
    const path = join(folder, 'server.log')
    createServerLog(path, { maxBytes: 60, now })('one')
    createServerLog(path, { maxBytes: 60, now })('two')
    createServerLog(path, { maxBytes: 60, now })('three')
    expect(readFileSync(`${path}.1`, 'utf8')).toContain('two')
    expect(readFileSync(path, 'utf8')).toContain('three')
  })

  it('ends no server where it cannot be written, and is made anew where its folder was deleted', () => {
    const path = join(folder, 'state', 'server.log')
    const keep = createServerLog(path, { now })
    keep('one')
    rmSync(join(folder, 'state'), { recursive: true })
    keep('lost')
    keep('two')
    expect(readFileSync(path, 'utf8')).toContain('two')
    chmodSync(folder, 0o500)
    expect(() => createServerLog(join(folder, 'other', 'server.log'))('x')).not.toThrow()
    chmodSync(folder, 0o700)
  })
})

describe('a fault in the terminal of npm start', () => {
  const of = (more: object) =>
    JSON.stringify({ level: 'error', event: 'fault', at: '2026-11-28T03:17:02.672Z', ...more })
  const network = { code: 'model_network', message: 'The model service could not be reached.' }
  const whole = {
    ...network,
    name: 'IsolaError',
    detail: 'Connection error. (Network connection lost.)',
    frames: [
      'at WF (src/platform/models/openai/failures.ts:28:12)',
      'at k (node_modules/x.js:1:1)',
    ],
    causes: [{ name: 'Error', message: 'Connection error.' }],
  }

  it.each([
    [
      whole,
      '03:17:02 ERROR model_network: The model service could not be reached. (Connection error. (Network connection lost.)) at src/platform/models/openai/failures.ts:28',
    ],
    [network, '03:17:02 ERROR model_network: The model service could not be reached.'],
    [
      { name: 'TypeError', message: 'x is\nundefined', frames: ['at f (plugins/kv/main.ts:3:1)'] },
      '03:17:02 ERROR TypeError: x is undefined at plugins/kv/main.ts:3',
    ],
    [
      { message: 'Kaputt.', causes: [{ message: 'Weil.' }] },
      '03:17:02 ERROR fault: Kaputt. (Weil.)',
    ],
    [{ code: 'a', message: 'b', detail: 'b' }, '03:17:02 ERROR a: b'],
  ])('is one line that a person reads (%#)', (fault, line) => {
    expect(createFaultReader()(of(fault))).toBe(line)
    expect(createFaultReader()(`✘ [ERROR] ${of(fault)}`)).toBe(line)
  })

  it('is told once where the answer that it became tells it again', () => {
    const read = createFaultReader()
    const again = of({ ...network, requestId: 'req_1' })
    expect(read(of(whole))).toContain('model_network')
    expect(read(again)).toBeUndefined()
    // Another request that fails so is another failure.
    expect(read(again)).toContain('model_network')
    expect(read(of(whole))).toContain('model_network')
    expect(read(of({ ...network, code: 'other', requestId: 'req_2' }))).toContain('other')
  })

  it.each([
    'Starting …',
    '{"level":"info","event":"request"}',
    '{"level":"error","event":"fault"',
    `a plugin said: ${of(network)}`,
    '',
  ])('leaves every other line as it is: %j', (line) => {
    expect(createFaultReader()(line)).toBe(line)
  })
})
