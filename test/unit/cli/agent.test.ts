import { expect, it } from 'vitest'
import { isola } from '../../fakes/terminal.ts'

const version = (number: number, state: string) => ({
  version: number,
  state,
  hash: String(number).repeat(64),
  createdBy: 'anna',
  createdAtMs: 0,
  needs: [],
  definition: { agent: { instructions: `text ${number}` } },
})
const agent = { id: 'notes', owner: 'anna', newest: 3, createdAtMs: 0, state: 'active' }
const versions = [version(3, 'waiting'), version(2, 'earlier'), version(1, 'in force')]

const show = (found: object, ...argv: readonly string[]) =>
  isola(['agent', 'show', 'notes', ...argv], {
    env: { ISOLA_URL: 'http://localhost', ISOLA_KEY: 'isk_test' },
    fetch: (async () => Response.json({ ...agent, ...found })) as typeof fetch,
  })

it.each([
  ['the text in force, after a rollback too', { version: 1, versions }, [], 1, 'in force'],
  ['the version that is named', { version: 1, versions }, ['2'], 2, 'earlier'],
  ['the newest where none is in force', { versions: [version(1, 'waiting')] }, [], 1, 'waiting'],
] as const)('I8: shows %s, and says which it is', async (_, found, argv, number, state) => {
  const { stdout } = await show(found, ...argv)
  expect(stdout).toContain(`The text of version ${number} (${state}):`)
  expect(stdout.match(/text \d/g)).toEqual([`text ${number}`])
})

it('says that there is no such version, and shows no text to who may not read them', async () => {
  const { stderr, code } = await show({ version: 1, versions }, '9')
  expect([code, stderr]).toEqual([1, expect.stringContaining('There is no version 9')])
  expect((await show({ version: 1, versions: [] })).stdout).not.toContain('The text')
})
