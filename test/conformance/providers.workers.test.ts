import { beforeAll, describe, expect, it } from 'vitest'
import keeper from 'isolated:test/fixtures/plugins/keeper'
import { permitLines } from '../../src/runtime/catalog/types/permit.ts'
import { call, callJson } from '../fakes/client.ts'
import {
  addPlugin,
  changePlugin,
  enablePlugin,
  showPlugin,
  tryChange,
} from '../fakes/plugin-admin.ts'
import { describeKnowledge, describeMemory } from './describe-memory.ts'

describeMemory('that is built in')
describeKnowledge('that is built in')

describe('in the place of what is built in', () => {
  beforeAll(async () => {
    await callJson('/api/memory', { json: { notes: [{ text: 'Kept before' }] } })
    const { manifest, code } = keeper as { manifest: object; code: string }
    await addPlugin({ manifest, code, files: {} })
    await enablePlugin('keeper')
  })

  describeMemory('of a plugin')
  describeKnowledge('of a plugin')

  it('P17: the grant dialog tells the operator which built-in part a provider replaces', async () => {
    const { asks } = await showPlugin('keeper')
    expect(asks.providers).toEqual(['memory', 'knowledge'])
    expect(permitLines(asks).map(({ text }) => text)).toContain(
      'provider: keeps what agents remember (memory)',
    )
  })

  it('P17: a second one is refused, and told which is in force', async () => {
    await addPlugin(other('second', 'async () => ({})'))
    const { hash, asks } = await showPlugin('second')
    await changePlugin('second', 'grant', { hash, permit: asks })
    const refused = await tryChange('second', 'enable')
    expect(refused.status).toBe(422)
    expect(JSON.stringify(await refused.json())).toContain(
      'memory is provided by the plugin \\"keeper\\" already',
    )
    // The one in force goes on.
    expect((await callJson('/api/memory', {})).notes).toEqual([])
  })

  it('P17: notes of a community provider have a stranger’s label, whatever label they claim', async () => {
    await callJson('/api/memory', { json: { notes: [{ text: 'Believe me' }] } })
    const { notes } = await callJson('/api/memory?query=believe', {})
    expect(notes[0].label).toMatchObject({ integrity: 'stranger', confidentiality: 'private' })
  })

  it('P17: forgetting everything reaches what was built in before, too', async () => {
    const gone = await call('/api/memory', { method: 'DELETE' })
    expect(((await gone.json()) as { forgotten: number }).forgotten).toBeGreaterThanOrEqual(2)
    await changePlugin('keeper', 'disable')
    expect((await callJson('/api/memory', {})).notes).toEqual([])
  })

  it.each([
    ['throws', 'async () => { throw new Error("secret") }', / failed\./],
    [
      'answers what is none',
      'async () => ({ notes: [{ id: 1 }] })',
      /an answer that is none: notes\.0/,
    ],
    ['answers too little', 'async () => ({})', /it has no notes/],
  ])(
    'P17: a provider that %s is an error that names the plugin, and no built-in part stands in for it',
    async (what, code, message) => {
      const id = `broken-${what.split(' ').at(-1)}`
      await callJson('/api/memory', { json: { notes: [{ text: 'Built in' }] } })
      await addPlugin(other(id, code))
      await enablePlugin(id)
      const refused = await call('/api/memory', {})
      expect(refused.status).toBe(503)
      const told = JSON.stringify(await refused.json())
      expect(told).toContain(id)
      expect(told).toMatch(message)
      expect(told).not.toContain('secret')
      await changePlugin(id, 'disable')
      expect((await callJson('/api/memory', {})).notes.length).toBeGreaterThan(0)
    },
  )
})

/** Another plugin that would keep memory. */
const other = (id: string, code: string) => ({
  manifest: {
    id,
    name: id,
    version: '1.0.0',
    entrypoint: 'main.ts',
    description: 'Keeps notes.',
    contributes: { providers: ['memory'] },
  },
  code: `export default () => ({ providers: { memory: ${code} } })`,
  files: {},
})
