import { parseArgs } from 'node:util'
import { describe, expect, it } from 'vitest'
import { clientOf } from '../../fakes/app-client.ts'
import command from '../../../cli/key.ts'
import type { Verb } from '../../../cli/command.ts'
import { main } from '../../../cli/main.ts'
import { createFakeApp } from '../../fakes/http-deps.ts'
import { runVerb } from '../../fakes/run-verb.ts'

const startMs = 1_790_000_000_000
type Json = Record<string, any> // oxlint-disable-line typescript/no-explicit-any

/** The verbs over the app itself, as the frame would run them. */
function open() {
  const { send } = createFakeApp()
  const printed: { value: Json; text: string }[] = []
  const said: string[] = []
  const run = async (verb: keyof typeof command.verbs, ...words: readonly string[]) => {
    const chosen: Verb = command.verbs[verb]
    const { options = {} } = chosen
    const { positionals, values } = parseArgs({ args: [...words], options, allowPositionals: true })
    await runVerb(chosen, {
      args: positionals,
      values,
      isJson: false,
      request: clientOf(send).request,
      stderr: { write: (text: string) => void said.push(text) },
      print: (value: Json, text: string) => void printed.push({ value, text }),
    })
    return printed.at(-1)!
  }
  return { run, printed, said }
}

describe('isola key', () => {
  it('adds a principal with a key, and prints the key once, alone', async () => {
    const { run, said } = open()
    const words = ['alice', '--role', 'user', '--agent', 'orchestrator', '--agent', 'code-reviewer']
    const limits = ['--daily-tokens', '5000', '--daily-cost-usd', '2.50']
    const { value, text } = await run('add', ...words, ...limits, '--expires-in', '30d')
    expect(value).toMatchObject({
      principal: 'alice',
      role: 'user',
      agents: ['orchestrator', 'code-reviewer'],
      models: null,
      limits: { dailyTokens: 5_000, dailyCostUsd: 2.5 },
      expiresAtMs: startMs + 30 * 86_400_000,
    })
    expect(text).toMatch(/^isk_\w{22}$/)
    expect(said.join('')).toMatch(/^This is the only time the key is shown. It is key_\w+ of alice/)
    expect(said.join('')).not.toContain(value['key'])
    expect((await run('list')).text).not.toContain(value['key'])
  })

  it.each([
    ['a user', ['--role', 'user'], 90, 1_000_000, ['ends after 90 days', '1000000 tokens a day']],
    [
      'a user that does not end',
      ['--role', 'user', '--no-expiry'],
      null,
      1_000_000,
      ['tokens a day'],
    ],
    ['a user without a limit', ['--role', 'user', '--no-limit'], 90, null, ['ends after 90 days']],
    [
      'a user with a limit of cost',
      ['--role', 'user', '--daily-cost-usd', '2'],
      90,
      null,
      ['90 days'],
    ],
    [
      'a user with a limit of tokens',
      ['--role', 'user', '--daily-tokens', '7'],
      90,
      7,
      ['90 days'],
    ],
    [
      'a user with an end',
      ['--role', 'user', '--expires-in', '1d'],
      1,
      1_000_000,
      ['tokens a day'],
    ],
    ['an author', ['--role', 'author'], null, null, []],
    ['an auditor', ['--role', 'auditor'], null, null, []],
    ['an operator', ['--role', 'operator'], null, null, []],
  ] as const)(
    'the defaults of %s are said where they are taken',
    async (_, words, days, tokens, says) => {
      const { run, said } = open()
      const { value } = await run('add', 'ann', ...words)
      expect(value['expiresAtMs']).toBe(days === null ? null : startMs + days * 86_400_000)
      expect(value['limits']).toMatchObject({ dailyTokens: tokens })
      const [, ...more] = said.join('').trim().split('\n')
      expect(more).toHaveLength(says.length)
      for (const [index, part] of says.entries()) expect(more[index]).toContain(part)
    },
  )

  it('another key of a user ends, too, and changes nothing of what the user may', async () => {
    const { run } = open()
    await run('add', 'ann', '--role', 'user', '--daily-tokens', '7')
    const { value } = await run('add', 'ann')
    expect(value).toMatchObject({
      limits: { dailyTokens: 7 },
      expiresAtMs: startMs + 90 * 86_400_000,
    })
    await run('add', 'ops', '--role', 'author')
    expect((await run('add', 'ops')).value['expiresAtMs']).toBeNull()
  })

  it.each(['add', 'add a b', 'list alice', 'revoke', 'add bob --expires-in nope', 'change bob'])(
    'exits with 2: %s',
    async (line) => {
      const said: string[] = []
      const stream = { write: (text: string) => said.push(text) }
      const io = { stdout: stream, stderr: stream, env: {} }
      expect(await main(['key', ...line.split(' ')], { ...io, modules: [command] })).toBe(2)
      expect(said.join('')).toContain('usage: isola key')
    },
  )

  it('adds another key of a principal that is there', async () => {
    const { run } = open()
    await run('add', 'alice', '--role', 'auditor')
    expect((await run('add', 'alice', '--expires-at', '2027-01-31')).value).toMatchObject({
      role: 'auditor',
      expiresAtMs: Date.parse('2027-01-31'),
    })
  })

  it('lists all keys or those of one principal, and says when there are none', async () => {
    const { run } = open()
    expect((await run('list')).text).toContain('No keys.')
    await run('add', 'alice', '--role', 'user')
    await run('add', 'bob', '--role', 'author')
    const { text } = await run('list')
    expect(text.split('\n').map((line) => line.split(/\s{2,}/)[1])).toEqual([
      'principal',
      'bob',
      'alice',
    ])
    expect((await run('list', '--principal', 'bob')).value['keys']).toHaveLength(1)
  })

  it('changes what a principal may, and leaves the rest', async () => {
    const { run } = open()
    await run('add', 'alice', '--role', 'user', '--agent', 'orchestrator', '--daily-tokens', '5')
    const words = ['--all-agents', '--daily-tokens', 'none', '--daily-cost-usd', '2']
    const { value, text } = await run('change', 'alice', ...words)
    expect(value).toMatchObject({
      role: 'user',
      agents: null,
      limits: { dailyTokens: null, dailyCostUsd: 2 },
    })
    expect(text).toContain('alice is user.\nagents: all; models: all')
  })

  it('revokes', async () => {
    const { run } = open()
    const { id } = (await run('add', 'alice', '--role', 'user')).value as { id: string }
    expect((await run('revoke', id)).text).toBe(
      `${id} of alice is revoked since 2026-09-21T14:13:20Z.`,
    )
  })

  it('rotates, with a time of grace', async () => {
    const { run } = open()
    const old = (await run('add', 'alice', '--role', 'user')).value
    const { value: next, text } = await run('rotate', old['id'], '--grace', '1h')
    expect(next['key']).not.toBe(old['key'])
    expect(text).toBe(next['key'])
    const { keys } = (await run('list')).value as { keys: Json[] }
    // The new one ends when the old one would have.
    const endMs = startMs + 90 * 86_400_000
    expect(keys.map(({ expiresAtMs }) => expiresAtMs)).toEqual([endMs, startMs + 3_600_000])
  })

  it('passes on what the server says', async () => {
    const { run } = open()
    await expect(run('add', 'bob')).rejects.toThrow('role: is required')
    await expect(run('revoke', 'key_1')).rejects.toThrow('There is no such key.')
  })

  it.each([
    ['add', ['a', '--expires-in', 'soon'], '--expires-in must be a time'],
    ['add', ['a', '--expires-at', 'soon'], '--expires-at must be a date'],
    ['add', ['a', '--expires-at', '7d'], '--expires-at must be a date'],
    ['add', ['a', '--daily-tokens', 'many'], '--daily-tokens: must be a number'],
    ['add', ['a', '--no-expiry', '--expires-in', '1d'], '--no-expiry and --expires-in exclude'],
    ['add', ['a', '--no-limit', '--daily-tokens', '1'], '--no-limit and --daily-tokens exclude'],
    ['change', ['a'], 'Nothing to change'],
    ['change', ['a', '--daily-tokens', 'no'], '--daily-tokens: must be a number'],
    ['rotate', ['key_1', '--grace', '1'], '--grace must be a time'],
  ] as const)('%s %j is a usage error', async (verb, words, message) => {
    const { run, printed } = open()
    await expect(run(verb, ...words)).rejects.toMatchObject({
      name: 'UsageError',
      message: expect.stringContaining(message),
    })
    expect(printed).toEqual([])
  })
})
