import { describe, expect, it } from 'vitest'
import { defaultToolPolicy, toolPolicySchema } from '#runtime/kernel/types/tool-policy.ts'
import { createRandom } from '../../fakes/random.ts'
import { isNightly } from '../../setup/nightly.ts'
import {
  createProgram,
  isPrivate,
  isStrangers,
  runProgram,
  sinks,
  type Effect,
  type Hole,
  type Program,
} from './programs.ts'

const count = isNightly ? 5_000 : 160
const programs = (many: number): readonly Program[] => {
  const random = createRandom(20_261_123)
  return Array.from({ length: many }, () => createProgram(random))
}

/** What docs/decisions/0065 forbids unasked, by what was really read. */
const isForbidden = ({ sink, text }: Pick<Effect, 'sink' | 'text'>): boolean =>
  isStrangers(text) && (sink !== 'visit' || isPrivate(text))
const nothing = () => ''
/** The goal of each stranger, the same whenever it is read. */
const wantsOf = (seed: number) => (id: number) => sinks[(seed * 7 + id * 3) % sinks.length]!

/** Whatever a stranger's text could steer is asked about. */
const strict = toolPolicySchema.parse({
  labels: [
    {
      label: { integrity: 'stranger' },
      sink: ['egress', 'write', 'spend', 'message', 'code'],
      verdict: 'ask',
    },
  ],
})
const unasked = (effects: readonly Effect[]) => effects.filter(({ isApproved }) => !isApproved)

async function judge(program: Program, seed: number, hole?: Hole) {
  const { chance } = createRandom(seed)
  const world = { policy: defaultToolPolicy, wants: wantsOf(seed), ...(hole && { hole }) }
  const { effects, held } = await runProgram(program, { ...world, approves: () => chance(0.3) })
  return {
    forbidden: unasked(effects).filter(isForbidden),
    needless: held.filter((one) => !isForbidden(one)),
    effects: effects.length,
    held: held.length,
  }
}

/** The same program before two strangers: one wants nothing, the other all there is. */
async function twins(program: Program, seed: number, hole?: Hole) {
  const world = { policy: strict, approves: () => false, ...(hole && { hole }) }
  const [quiet, loud] = await Promise.all([
    runProgram(program, { ...world, wants: nothing }),
    runProgram(program, { ...world, wants: wantsOf(seed) }),
  ])
  return { quiet: unasked(quiet.effects), loud: unasked(loud.effects) }
}

describe('programs of calls, made at random', () => {
  it('T11: do nothing outside by what a stranger wrote, unless a rule or a person said so', async () => {
    let [effects, held, needless] = [0, 0, 0]
    for (const [seed, program] of programs(count).entries()) {
      const judged = await judge(program, seed)
      expect([seed, judged.forbidden]).toEqual([seed, []])
      effects += judged.effects
      held += judged.held
      needless += judged.needless.length
    }
    console.log(
      `${count} programs: ${effects} effects, ${held} held back, ${needless} of them needlessly`,
    )
    expect(effects).toBeGreaterThan(count)
    expect(held).toBeGreaterThan(count)
  })

  it('T11: do the same unasked whatever a stranger wants', async () => {
    let same = 0
    for (const [seed, program] of programs(count / 2).entries()) {
      const { quiet, loud } = await twins(program, seed)
      expect([seed, loud]).toEqual([seed, quiet])
      same += quiet.length
    }
    expect(same).toBeGreaterThan(count / 8)
  })

  it.for(['load', 'child', 'answer'] as const)(
    'are noticed where a label is lost: %s',
    async (hole) => {
      let [seen, differ] = [0, 0]
      for (const [seed, program] of programs(300).entries()) {
        if ((await judge(program, seed, hole)).forbidden.length > 0) seen += 1
        const { quiet, loud } = await twins(program, seed, hole)
        if (JSON.stringify(quiet) !== JSON.stringify(loud)) differ += 1
        if (seen > 0 && differ > 0) return
      }
      expect([seen, differ]).toBe('both')
    },
  )
})
