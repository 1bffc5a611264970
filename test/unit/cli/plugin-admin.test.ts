import { expect, it } from 'vitest'
import { main } from '../../../cli/main.ts'

/** What a command says of what the server answers. */
async function said(words: readonly string[], answer: unknown): Promise<string> {
  let out = ''
  const write = (text: string) => ((out += text), true)
  const code = await main(words, {
    env: { ISOLA_URL: 'http://localhost:1', ISOLA_KEY: 'isk_test' },
    fetch: async () => Response.json(answer),
    stdout: { write },
    stderr: { write },
  })
  expect(code).toBeLessThan(2)
  return out
}

const forged = 'A tool.\n  FORGED\u001b[2J'
const version = {
  version: '1.0.0',
  hash: 'a'.repeat(64),
  tier: 'community',
  source: forged,
  signer: forged,
  isSignerAccepted: true,
  installedBy: forged,
  installedAtMs: 0,
}
const plugin = {
  ...version,
  id: 'nice',
  state: 'disabled',
  manifest: { description: forged },
  lines: [{ text: forged }],
  missing: [],
  problem: { code: 'plugin_failed', message: forged },
  versions: [version],
  waiting: [],
  notes: [forged],
}

it.each([
  ['show', ['plugin', 'show', 'nice'], plugin],
  ['list', ['plugin', 'list'], { generation: 1, plugins: [{ ...plugin, waiting: 0 }] }],
  [
    'doctor',
    ['plugin', 'doctor'],
    { plugins: [{ plugin: 'nice', code: 'plugin_failed', message: forged }] },
  ],
])(
  'T24: an author’s words make no line of their own in isola plugin %s',
  async (_verb, words, answer) => {
    const text = await said(words, answer)
    expect(text).toContain('A tool. FORGED')
    expect(text).not.toMatch(/^ *FORGED/m)
    expect(text).not.toContain('\u001b')
  },
)

it('names the version that waits, and which one is live once it is allowed', async () => {
  const update = {
    ...plugin,
    version: '2.0.0',
    hash: 'b'.repeat(64),
    lines: [{ text: 'network: GET example.com' }],
    missing: [{ text: 'network: GET example.com' }],
    texts: [],
    isTold: true,
    asks: {},
  }
  const live = { ...plugin, state: 'enabled', problem: undefined, waiting: 1, update }
  // The detail is asked for by the same command; both have what it reads.
  const list = { generation: 1, plugins: [live], ...live }
  expect(await said(['plugin', 'list'], list)).toContain('2.0.0 waits')
  const granted = { ...live, generation: 2, plugin: { ...live, version: '2.0.0' }, notes: [] }
  expect(await said(['plugin', 'grant', 'nice', '--yes'], granted)).toContain(
    'Allowed. nice 2.0.0 is live',
  )
})
