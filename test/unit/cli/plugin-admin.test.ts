import { expect, it } from 'vitest'
import { main } from '../../../scripts/isola/main.ts'

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
