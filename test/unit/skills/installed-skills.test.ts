import { describe, expect, it } from 'vitest'
import { toPins, type SkillPin } from '#runtime/catalog/types/generation.ts'
import { createSearchIndex } from '../../../src/runtime/catalog/search/search-index.ts'
import { createInstalledSkills } from '../../../src/features/skills/installed-skills.ts'
import { createSkillSearch } from '../../../src/features/skills/skill-search.ts'
import { skillBundle } from '../../fakes/skills.ts'

describe('an installed skill', () => {
  it('goes by the name that it was installed under, with the same files as another', async () => {
    const pins: readonly SkillPin[] = [
      { id: 'kites', hash: 'same', tier: 'trusted' },
      { id: 'knots', hash: 'same', tier: 'community' },
    ]
    const skills = createInstalledSkills({
      catalog: {
        skills: async () => [],
        around: async ([id]) => ({
          number: 1,
          pins: toPins(
            pins.filter((pin) => pin.id === id).map((pin) => ({ kind: 'skill', id: pin.id, pin })),
          ),
        }),
      },
      loadBundle: async () => skillBundle('Ein Name', 'Ties.', 'Cut the spars.'),
    })
    expect(await skills.load('kites')).toMatchObject({ name: 'kites', tier: 'trusted' })
    expect(await skills.load('knots')).toMatchObject({ name: 'knots', tier: 'community' })
  })
})

describe('T23: the search over all skills', () => {
  const about = { description: 'Ties knots.', requires: [], kind: 'skill', text: '' } as const
  const version = { ...about, name: 'knots', hash: 'h', tier: 'trusted' } as never
  const row = { name: 'knots', hash: 'h', state: 'enabled', owner: 'ann', version } as const
  let reads = 0
  const asked: unknown[] = []
  const search = createSkillSearch({
    bundled: async () => [],
    store: { list: async (state) => ((reads += 1), asked.push(state), [row]) },
    buildIndex: createSearchIndex,
  })
  const find = (tier: SkillPin['tier'] | undefined, revision: object) => {
    const skill = tier ? [{ id: 'knots', hash: 'h', tier }] : []
    return search(['ties knots'], { revision: () => revision, around: () => ({ pins: { skill } }) })
  }

  it('says of each whose words it is as it is in force, not as it came', async () => {
    expect(await find('community', {})).toMatchObject([{ name: 'knots', tier: 'community' }])
  })

  it('names none that is not in force', async () => {
    expect(await find(undefined, {})).toEqual([])
  })

  it('reads what there is once for each revision', async () => {
    const [one, other] = [{}, {}]
    reads = 0
    for (const revision of [one, one, other, one]) await find('trusted', revision)
    expect(reads).toBe(3)
    // Thousands may be installed.
    expect(new Set(asked)).toEqual(new Set(['enabled']))
  })
})
