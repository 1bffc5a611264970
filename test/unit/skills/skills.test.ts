import { expect, it } from 'vitest'
import type { SkillRow, SkillVersion } from '#runtime/catalog/types/skill-catalog.ts'
import { createSkillStore, skillRows } from '../../../src/features/skills/store/skills.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'

const version = (name: string): SkillVersion => ({
  name,
  hash: `hash of ${name}`,
  tier: 'community',
  source: 'upload',
  installedBy: 'ann',
  installedAtMs: 1,
  sizeBytes: 1,
  description: `Does ${name}.`,
  kind: 'skill',
  requires: [],
  paths: [],
  tokens: 1,
  text: '',
})

it('reads installed skills by name, and of those that are enabled nothing else', async () => {
  const { database } = createSqliteDatabase()
  const states = ['removed', 'installed', 'enabled', 'disabled'] as const
  for (const state of states) {
    const row: SkillRow = { name: state, hash: `hash of ${state}`, state, owner: 'ann' }
    await database.batch([...skillRows(database, [row], version(state))])
  }
  const store = createSkillStore(database)
  const names = async (state?: 'enabled') => (await store.list(state)).map(({ name }) => name)
  expect(await names()).toEqual(['disabled', 'enabled', 'installed'])
  expect(await names('enabled')).toEqual(['enabled'])
})
