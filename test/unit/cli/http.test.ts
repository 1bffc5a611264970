import { describe, expect, it } from 'vitest'
import { PassThrough } from 'node:stream'
import { askForHosts, mayAsk, networkLine } from '../../../scripts/network.mjs'
import { questionOf } from '../../../cli/chat/pauses.ts'
import { isola } from '../../fakes/terminal.ts'

function served(answer: object) {
  const asked: { url: string; method: string; body: unknown }[] = []
  const fetch = async (url: string, init: RequestInit = {}) => {
    const body = typeof init.body === 'string' ? JSON.parse(init.body) : undefined
    asked.push({ url, method: init.method ?? 'GET', body })
    return Response.json(answer)
  }
  const env = { ISOLA_KEY: 'isk_test', ISOLA_URL: 'http://localhost:1' }
  return { asked, io: { env, fetch: fetch as typeof globalThis.fetch } }
}

describe('isola http', () => {
  it('lists that nothing is open, and says how to open it', async () => {
    const { io } = served({ generation: 0, hosts: [], elsewhere: 'ask' })
    const { stdout, code } = await isola(['http', 'list'], io)
    expect([code, stdout]).toEqual([
      0,
      'No host is open to the http tools. Open one: isola http allow <host>\n' +
        'To any other host: a person is asked; without one, denied.\n',
    ])
  })

  it('opens and closes hosts', async () => {
    const { io, asked } = served({ generation: 3, notes: ['+ http tools reach a.example'] })
    const { stdout } = await isola(['http', 'allow', 'a.example', '*.b.example'], io)
    expect(stdout).toBe('+ http tools reach a.example\nGeneration 3.\n')
    await isola(['http', 'deny', 'a.example', '--elsewhere', 'deny'], io)
    const url = 'http://localhost:1/api/operator/http'
    expect(asked).toEqual([
      { url, method: 'POST', body: { allow: ['a.example', '*.b.example'] } },
      { url, method: 'POST', body: { deny: ['a.example'], elsewhere: 'deny' } },
    ])
  })

  it('shows who decides in isola chat where a call goes, on one line', () => {
    const about = `GET at evil.example, a host … The whole address: https://evil.example/?d=1`
    const pause = { kind: 'approval' as const, tool: 'http__get', input: { url: 'x' }, about }
    expect(questionOf(pause).text.split('\n')).toEqual([
      '? http__get wants to run with {"url":"x"}',
      `  ${about}`,
    ])
  })

  it('wants a host', async () => {
    expect((await isola(['http', 'allow'], served({}).io)).code).toBe(2)
  })
})

describe('the question of a new deployment', () => {
  const terminal = { stdin: { isTTY: true }, stdout: { isTTY: true }, env: {} }
  it.each([
    ['at a terminal', terminal, true],
    ['in a pipe', { ...terminal, stdin: {} }, false],
    ['into a pipe', { ...terminal, stdout: {} }, false],
    ['in CI', { ...terminal, env: { CI: 'true' } }, false],
  ])('is put %s: %s', (_where, io, isPut) => {
    expect(mayAsk(io)).toBe(isPut)
  })

  const answered = async (line: string) => {
    const sent: unknown[] = []
    const stdin = new PassThrough()
    stdin.end(`${line}\n`)
    const open = async (allow: string[]) => void sent.push({ allow })
    await askForHosts({ open, say: () => {}, stdin, stdout: new PassThrough() })
    return sent
  }
  it('opens what is named, and nothing for Enter', async () => {
    expect(await answered('a.example, b.example')).toEqual([{ allow: ['a.example', 'b.example'] }])
    expect(await answered('')).toEqual([])
  })

  it('is followed by one line', () => {
    expect(networkLine({ hosts: [], elsewhere: 'ask' })).toBe(
      'closed to the http tools, others are asked about (isola http allow <host>)',
    )
    expect(networkLine({ hosts: ['a.example'], elsewhere: 'deny' })).toBe(
      'http tools reach a.example; others are denied',
    )
  })
})
