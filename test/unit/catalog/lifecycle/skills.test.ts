import { describe, expect, it } from 'vitest'
import { exposureSchema, exposureOf } from '#runtime/catalog/types/generation.ts'
import type { ChangeBy } from '#runtime/catalog/types/plugin-catalog.ts'
import type { SkillChange, SkillVersion } from '#runtime/catalog/types/skill-catalog.ts'
import { createPluginLifecycle } from '../../../../src/runtime/catalog/lifecycle/lifecycle.ts'
import { createBundleStore } from '../../../../src/features/plugins/store/bundles.ts'
import { createPluginStore } from '../../../../src/features/plugins/store/plugins.ts'
import { createSkillStore } from '../../../../src/features/skills/store/skills.ts'
import { readBundle } from '../../../../src/features/skills/admission/read-bundle.ts'
import { sha256 } from '../../../fakes/kernel.ts'
import { skillBundle } from '../../../fakes/skills.ts'
import { createSqliteDatabase } from '../../../fakes/sqlite-database.ts'

const operator: ChangeBy = { principal: 'operator', trace: '', requestId: '', mayEnable: true }
const ada: ChangeBy = { ...operator, principal: 'ada', mayEnable: false }
const eve: ChangeBy = { ...ada, principal: 'eve' }

function open(quota: Partial<Record<'maxVersions' | 'maxBytes' | 'maxAddsPerHour', number>> = {}) {
  const { database, sqlite } = createSqliteDatabase()
  let now = 1_000
  const clock = { nowMs: () => (now += 1), sleep: async () => {} }
  const namespace = { get: async () => null, put: async () => {}, delete: async () => {} }
  const bundles = createBundleStore({ database, namespace, sha256, clock })
  const skills = createSkillStore(database)
  const store = createPluginStore(database)
  const signers = new Set(['acme'])
  const lifecycle = createPluginLifecycle({
    store,
    skills,
    clock,
    bundles,
    quota: { maxVersions: 100, maxBytes: 1e9, maxAddsPerHour: 100, ...quota },
    bundledIds: () => new Set(),
    bundledSkills: async () => ['code-review'],
    signers: async () => [...signers],
    around: async (generation) => ({ ...generation, sources: {} }),
    tryOut: async () => ({ runsOwnAgent: false }),
  })
  const change = (skill: SkillChange, by = operator) => lifecycle.change({ do: 'skill', skill }, by)
  const add = async (
    name: string,
    body: string,
    more: Partial<SkillVersion> = {},
    by = operator,
  ) => {
    const bundle = skillBundle(name, `Does ${name}.`, body)
    const checks = { sha256, count: { ofText: () => 1 }, checkPaths: () => {} }
    const { version, text } = readBundle({ bundle }, checks)
    const whose = { installedAtMs: clock.nowMs(), installedBy: by.principal }
    const about = { tier: 'community', source: 'upload', ...whose, ...more } as const
    const { notes } = await change(
      { do: 'add', version: { ...version, ...about }, bundle: text },
      by,
    )
    return { hash: version.hash, notes }
  }
  const pins = async () => (await lifecycle.current()).pins.skill ?? []
  const events = () =>
    sqlite
      .prepare(
        `SELECT type, data FROM audit WHERE type LIKE '%skill%' OR type = 'plugin_refused' ORDER BY rowid`,
      )
      .all()
      .map(({ type, data }) => [type, JSON.parse(String(data)) as Record<string, unknown>] as const)
  return { database, sqlite, skills, signers, lifecycle, change, add, pins, events, bundles, store }
}

describe('P17: a skill as a part', () => {
  it('is in force from when it is enabled until it is disabled or removed, each on the record', async () => {
    const { add, change, pins, events } = open()
    const { hash } = await add('kites', 'Cut.')
    expect(await pins()).toEqual([])
    await change({ do: 'enable', name: 'kites', hash })
    expect(await pins()).toEqual([{ id: 'kites', hash, tier: 'community' }])
    await change({ do: 'disable', name: 'kites' })
    expect(await pins()).toEqual([])
    await change({ do: 'enable', name: 'kites' })
    await change({ do: 'remove', name: 'kites' })
    expect(await pins()).toEqual([])
    await expect(change({ do: 'enable', name: 'kites' })).rejects.toMatchObject({
      code: 'request_not_found',
    })
    expect(events().map(([type]) => type)).toEqual([
      'skill_added',
      'skill_enabled',
      'skill_disabled',
      'skill_enabled',
      'skill_removed',
      'plugin_refused',
    ])
    expect(events().at(-1)?.[1]).toMatchObject({ asked: 'skill enable', skill: 'kites' })
  })

  it('goes back with a generation: on, off, and in the version of then', async () => {
    const { add, change, pins, lifecycle, signers } = open()
    const first = await add('kites', 'Cut.', { tier: 'trusted', signer: 'acme' })
    const { generation } = await change({ do: 'enable', name: 'kites' })
    const second = await add('kites', 'Cut, then glue.', { tier: 'trusted', signer: 'acme' })
    await change({ do: 'update', name: 'kites', hash: second.hash })
    await add('ropes', 'Splice.')
    await change({ do: 'enable', name: 'ropes' })
    expect((await pins()).map(({ id }) => id)).toEqual(['kites', 'ropes'])
    const back = () => lifecycle.change({ do: 'restore', generation }, operator)
    await back()
    expect(await pins()).toEqual([{ id: 'kites', hash: first.hash, tier: 'trusted' }])
    // A key that was removed since signs nothing any more.
    signers.delete('acme')
    await back()
    expect(await pins()).toMatchObject([{ tier: 'community' }])
    await change({ do: 'remove', name: 'kites' })
    const { notes } = await back()
    expect([await pins(), notes]).toEqual([
      [],
      ['The skill "kites" stays off: it was removed since.'],
    ])
  })

  it('P20: is a stranger’s as soon as the key of its signer is removed, without being enabled again', async () => {
    const { add, change, pins, lifecycle, signers, sqlite } = open()
    for (const [name, more] of [
      ['kites', { tier: 'trusted', signer: 'acme' }],
      ['ropes', { tier: 'trusted', signer: 'bolt' }],
    ] as const) {
      signers.add(more.signer)
      await add(name, 'Cut.', more)
      await change({ do: 'enable', name })
    }
    const tiers = async () => (await pins()).map(({ id, tier }) => [id, tier])
    const distrust = () => lifecycle.change({ do: 'distrust' }, operator)
    const { generation } = await distrust()
    expect((await lifecycle.current()).number).toBe(generation)
    expect(await tiers()).toEqual([
      ['kites', 'trusted'],
      ['ropes', 'trusted'],
    ])
    signers.delete('acme')
    expect((await distrust()).generation).toBe(generation + 1)
    expect(await tiers()).toEqual([
      ['kites', 'community'],
      ['ropes', 'trusted'],
    ])
    expect((await distrust()).generation).toBe(generation + 1)
    const told = sqlite.prepare(`SELECT data FROM audit WHERE type = 'trust_lowered'`).all()
    expect(told.map(({ data }) => JSON.parse(String(data)))).toMatchObject([{ skills: ['kites'] }])
  })

  it('takes what it was offered with along when it is removed, and nothing of a plugin by its name', async () => {
    const { add, change, lifecycle } = open()
    await add('kites', 'Cut.')
    const choice = {
      tools: ['kites__fly'],
      skills: ['kites', 'code-review'],
      public_skills: ['kites'],
    }
    const exposed = exposureSchema.parse(choice)
    await lifecycle.change({ do: 'expose', exposed }, operator)
    const { notes } = await change({ do: 'remove', name: 'kites' })
    expect(exposureOf(await lifecycle.current())).toEqual({
      ...exposed,
      skills: ['code-review'],
      public_skills: [],
    })
    expect(notes.join()).toContain('No longer offered at /mcp: skill kites')
  })

  it('P21: stays as it is while a version waits, and is off where one requires more or is trusted less', async () => {
    const { add, change, pins } = open()
    const first = await add('kites', 'Cut.', { tier: 'trusted', signer: 'acme' })
    await change({ do: 'enable', name: 'kites' })
    const less = await add('kites', 'Cut it.')
    expect(less.notes.join()).toContain('goes on until an operator takes this one')
    expect(await pins()).toMatchObject([{ hash: first.hash }])
    const { notes } = await change({ do: 'update', name: 'kites', hash: less.hash })
    expect([await pins(), notes.join()]).toEqual([[], expect.stringContaining('trusted less')])
    await change({ do: 'enable', name: 'kites' })
    const more = await add('kites', 'Cut all.', { requires: ['tool:http__get'] })
    const wider = await change({ do: 'update', name: 'kites', hash: more.hash })
    expect([await pins(), wider.notes.join()]).toEqual([
      [],
      expect.stringContaining('tool:http__get'),
    ])
    const unknown = change({ do: 'update', name: 'kites', hash: 'f'.repeat(64) })
    await expect(unknown).rejects.toMatchObject({ code: 'request_not_found', param: 'hash' })
  })

  it('is whose it was brought by: another author’s version of it is refused, an operator’s is not', async () => {
    const { add } = open()
    await add('kites', 'Cut.', {}, ada)
    await expect(add('kites', 'Steal.', {}, eve)).rejects.toMatchObject({
      code: 'request_forbidden',
    })
    await expect(add('kites', 'Better.', {}, operator)).resolves.toBeDefined()
    await expect(add('kites', 'Best.', {}, ada)).resolves.toBeDefined()
  })

  it.each([
    [{ maxVersions: 1 }, 'request_insufficient_quota'],
    [{ maxBytes: 200 }, 'request_insufficient_quota'],
    [{ maxAddsPerHour: 1 }, 'request_rate_limited'],
  ])('P21: counts for what its author may bring: %j', async (quota, code) => {
    const { add } = open(quota)
    await add('kites', 'Cut.', {}, ada)
    await expect(add('ropes', 'Splice.', {}, ada)).rejects.toMatchObject({ code })
  })

  it('has names of skills that ship or look alike refused, and that refusal is on the record', async () => {
    const { add, events } = open()
    await add('kite-building', 'Cut.')
    await expect(add('code-review', 'x')).rejects.toMatchObject({ code: 'plugin_name_collision' })
    await expect(add('kite-bulding', 'x')).rejects.toThrow('looks like "kite-building"')
    expect(events().at(-1)).toMatchObject(['plugin_refused', { skill: 'kite-bulding' }])
  })

  it('rehearses: it is decided, and nothing is written or told', async () => {
    const { change, skills, events } = open()
    const bundle = skillBundle('kites', 'Builds.', 'Cut.')
    const checks = { sha256, count: { ofText: () => 1 }, checkPaths: () => {} }
    const { version, text } = readBundle({ bundle }, checks)
    const about = { tier: 'community', source: '', installedAtMs: 1, installedBy: 'ada' } as const
    const sent = {
      do: 'add',
      version: { ...version, ...about },
      bundle: text,
      dryRun: true,
    } as const
    await change(sent)
    expect([await skills.list(), events()]).toEqual([[], []])
  })

  it('is collected when nothing names it, and counts no more; what it has is kept', async () => {
    const { add, change, store, bundles, skills, sqlite } = open()
    const first = await add('kites', 'Cut.', {}, ada)
    const second = await add('kites', 'Cut it.', {}, ada)
    const later = 10_000
    expect(await store.unnamed(later, 10)).toEqual([first.hash])
    await bundles.remove([first.hash], later)
    expect((await skills.versions('kites')).map(({ hash }) => hash)).toEqual([second.hash])
    const usage = sqlite.prepare(`SELECT versions FROM plugin_usage WHERE principal = 'ada'`)
    expect(usage.get()).toEqual({ versions: 1 })
    // Again it is as if it came for the first time.
    await add('kites', 'Cut.', {}, ada)
    expect(usage.get()).toEqual({ versions: 2 })
    await change({ do: 'remove', name: 'kites' })
    expect((await store.unnamed(20_000, 10)).length).toBe(2)
  })
})
