import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  partsDiff,
  partsOf,
  toPins,
  type PartKind,
  type Pins,
  defaultExposure,
} from '../../../src/runtime/catalog/types/generation.ts'
import { defaultToolPolicy } from '../../../src/runtime/kernel/types/tool-policy.ts'
import { createKinds } from '../../../src/runtime/catalog/lifecycle/lifecycle.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const kinds = createKinds({} as Parameters<typeof createKinds>[0])
const all = Object.keys(kinds) as PartKind[]

/** Where a kind is named: its entry of the table with what decides for it, and what wires its pins. */
const places: Record<PartKind, readonly string[]> = {
  plugin: [
    'src/features/plugins/loading/generation.ts',
    'src/runtime/catalog/lifecycle/changes.ts',
    'src/runtime/catalog/lifecycle/prove.ts',
    'src/runtime/catalog/lifecycle/restore.ts',
    'src/runtime/catalog/lifecycle/plugin-kind.ts',
  ],
  bundled: [
    'src/features/plugins/loading/generation.ts',
    'src/runtime/catalog/lifecycle/changes.ts',
    'src/runtime/catalog/lifecycle/restore.ts',
  ],
  mcp: ['src/features/mcp-servers/approved.ts', 'src/features/mcp-servers/change-server.ts'],
  policy: ['src/runtime/catalog/types/generation.ts'],
  exposure: ['src/runtime/catalog/types/generation.ts'],
  skill: [
    'src/runtime/catalog/lifecycle/skill-kind.ts',
    'src/features/skills/installed-skills.ts',
    'src/features/skills/skill-search.ts',
    // What it was offered with goes with it, and nothing of a plugin by its name.
    'src/runtime/catalog/lifecycle/lifecycle.ts',
    // Of a skill, not of a part: whether it is a persona.
    'src/features/skills/skill-search.ts',
    'src/features/skills/skill-views.ts',
  ],
}

const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => [`src/${path}`, readFileSync(join(root, 'src', path), 'utf8')] as const)

/** Whatever looks into a generation for one kind, or asks a part which kind it is of. */
const branchesOn = (kind: PartKind): RegExp =>
  new RegExp(
    String.raw`\bpins?Of\([^()]*(\([^()]*\))?[^()]*, '${kind}'|\bpins(\?)?\.${kind}\b|\bkinds?\.${kind}\b|\bkind (===|!==) '${kind}'|case '${kind}':.*[Pp]in`,
  )

describe('the table of what can be installed', () => {
  it('P17: has an entry for every kind, each with all that is particular to it', () => {
    for (const kind of all)
      expect(kinds[kind]).toMatchObject({ kind, restore: expect.any(Function) })
    expect(all.toSorted()).toEqual(Object.keys(places).toSorted())
  })

  it.each(all)(
    'no part of a generation is looked at by its kind outside of its place: %s',
    (kind) => {
      const found = sources.filter(([, text]) => branchesOn(kind).test(text)).map(([path]) => path)
      const allowed =
        kind === 'policy'
          ? [...places.policy, 'src/features/plugins/store/generations.ts']
          : places[kind]
      expect(found.filter((path) => !allowed.includes(path))).toEqual([])
    },
  )

  it('a generation branch is seen by this test', () => {
    for (const text of [
      `pinsOf(generation, 'mcp')`,
      `pinOf(now, 'mcp', id)`,
      'generation.pins.mcp ?? []',
      `if (part.kind === 'mcp')`,
      `pinsOf(await current(), 'mcp')`,
    ])
      expect(branchesOn('mcp').test(text)).toBe(true)
  })
})

const plugin = (id: string, more: object = {}) =>
  ({
    id,
    hash: `h-${id}`,
    grantEpoch: 1,
    permit: { hooks: [] },
    ...more,
  }) as unknown as NonNullable<Pins['plugin']>[number]
const pins: Pins = {
  plugin: [plugin('a'), plugin('b')],
  policy: [{ id: 'policy', policy: defaultToolPolicy }],
  exposure: [{ id: 'exposure', exposed: defaultExposure }],
}

describe('parts of every kind', () => {
  it('are the same set again, in whatever order they are stored', () => {
    expect(toPins(partsOf({ pins }).toReversed())).toEqual(pins)
  })

  it('are compared alike: what came, what is another now, and what is gone', () => {
    const after: Pins = {
      ...pins,
      plugin: [plugin('b', { hash: 'other' }), plugin('c')],
      exposure: [{ id: 'exposure', exposed: { ...defaultExposure, agents: [] } }],
    }
    const { came, gone } = partsDiff(pins, after)
    expect(came.map(({ kind, id }) => `${kind} ${id}`)).toEqual([
      'plugin b',
      'plugin c',
      'exposure exposure',
    ])
    expect(gone.map(({ kind, id }) => `${kind} ${id}`)).toEqual(['plugin a'])
  })
})
