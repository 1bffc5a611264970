import { describe, expect, it } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import { createRedactor } from '../../../src/features/record/redactor.ts'
import { createLogWriter } from '../../../src/features/record/telemetry/log-writer.ts'

const secret = 'sk-live-0123456789'

function setUp(level: 'off' | 'error' | 'info' = 'info') {
  const lines: string[] = []
  const log = createLogWriter({
    level,
    redact: createRedactor([secret]),
    clock: { nowMs: () => 1_790_000_000_000 },
    write: (_severity, line) => void lines.push(line),
  })
  const read = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  return { log, lines, read }
}

const request = { requestId: 'req_1', method: 'GET', route: null, status: 404, ms: 3 }

describe('the log', () => {
  it('is one line of JSON for a request and for a fault', () => {
    const { log, lines, read } = setUp()
    log.request?.(request)
    log.fault(new IsolaError('model_network', 'away', { detail: 'a\nb' }), 'req_1')
    expect(read()).toMatchObject([
      { level: 'info', event: 'request', at: '2026-09-21T14:13:20.000Z', ...request },
      { level: 'error', event: 'fault', requestId: 'req_1', code: 'model_network', detail: 'a\nb' },
    ])
    for (const line of lines) expect(line).not.toContain('\n')
  })

  it.each([
    ['off', []],
    ['error', ['fault']],
    ['info', ['request', 'fault']],
  ] as const)('with level %s has %j', (level, events) => {
    const { log, read } = setUp(level)
    log.request?.(request)
    log.fault(new Error('boom'))
    expect(read().map(({ event }) => event)).toEqual(events)
  })

  it.each([
    ['in a message', new Error(`The key ${secret} is wrong`)],
    ['in a name', Object.assign(new Error('x'), { name: secret })],
    ['in a detail', new IsolaError('model_auth', 'x', { detail: secret })],
    ['in a cause of a cause', new Error('x', { cause: new Error('y', { cause: secret }) })],
    ['in what is no error', { toString: (): string => secret }],
    ['in a query', new Error(`GET https://a.example/?k=${encodeURIComponent(secret)}`)],
    ['in JSON', new Error(JSON.stringify({ authorization: `Bearer ${secret}` }))],
  ])('T4, I28: a known secret never comes out: %s', (_where, error) => {
    const { log, lines } = setUp()
    log.fault(error)
    expect(lines).toHaveLength(1)
    expect(lines.join('')).not.toContain(secret)
    expect(lines.join('')).not.toContain(encodeURIComponent(secret))
  })

  it.each([
    ['userinfo of an address', 'https://user:hunter22hunter@a.example/path', 'hunter22hunter'],
    ['userinfo of a database', 'postgres://user:hunter22hunter@a.example', 'hunter22hunter'],
    ['query of an address', 'https://a.example/path?token=hunter22hunter', 'hunter22hunter'],
    ['Authorization header', 'authorization: Basic aHVudGVyMjI6aHVudGVyMjI=', 'aHVudGVy'],
    [
      'userinfo of a second address',
      'https://a.example,x://u:hunter22hunter@b.example',
      'hunter22',
    ],
    ['userinfo after a digit', '1https://user:hunter22hunter@a.example', 'hunter22hunter'],
    ['userinfo without an end', `https://${'hunter22'.repeat(9_000)}@a.example`, 'hunter22'],
    ['key of ours', 'isk_0123456789abcdefABCDEF', '0123456789abcdefABCDEF'],
  ])('I28: no line of the log shows the %s', (_what, text, unseen) => {
    const { log, lines } = setUp()
    log.fault(new Error(`Failed: ${text}`))
    expect(lines.join('')).not.toContain(unseen)
  })

  it.each([
    ['letters', 'a'],
    ['addresses', 'a://'],
    ['users', '://@'],
    ['questions', '://?'],
    ['headers', 'basic '],
    ['spaces', ' '],
    ['keys', 'isk_'],
    ['schemes', 'a+b.'],
  ])(
    'F36: a long text that is built to be looked through again and again comes out cut: %s',
    (_what, unit) => {
      const { log, read } = setUp()
      log.fault({ toString: () => unit.repeat(40_000) })
      expect(String(read()[0]?.['message']).length).toBeLessThanOrEqual(4_000)
    },
  )

  it('F36: a text is cut before it is looked through, but not before known secrets are out', () => {
    const { log, read } = setUp()
    const at = 16_000 - 'https://a.example/?'.length - 3
    log.fault({ toString: () => `https://a.example/?${'q'.repeat(at)}${secret} AFTER` })
    log.fault({ toString: () => `https://a.example/?${'q'.repeat(100)}${secret} AFTER` })
    expect(read().map(({ message }) => message)).toEqual([
      'https://a.example/?[cut]',
      'https://a.example/?[cut] AFTER',
    ])
  })

  it('I28: a key that was shown with the request does not come out', () => {
    const { log, lines } = setUp()
    log.fault(new Error('What is somebody-elses-key for?'), 'req_1', ['somebody-elses-key'])
    expect(lines.join('')).not.toContain('somebody-elses-key')
  })

  it('a ring of causes ends', () => {
    const { log, read } = setUp()
    const error = new Error('ring')
    error.cause = error
    log.fault(error)
    expect(read()).toHaveLength(1)
  })
})
