import { beforeAll, describe, expect, it } from 'vitest'
import { defaultPinned } from '#runtime/kernel/types/tool-policy.ts'
import {
  openBundled,
  triggersOf,
  tryToolTriggers,
  type TriedPhrase,
} from '../../fakes/tool-triggers.ts'

/** The measured counts: no fewer phrases may find their tool, and no more be led to an agent that they are not for. */
const least = { first: 52, named: 99, misses: 63 }
const most = { pinned: 0, searched: 1 }

let bundled: Awaited<ReturnType<typeof openBundled>>
let tried: readonly TriedPhrase[]
beforeAll(async () => {
  bundled = await openBundled()
  tried = await tryToolTriggers(bundled)
})

type Meant = TriedPhrase & { readonly meant: string }
const isMeant = (one: TriedPhrase): one is Meant => one.meant !== undefined
const isFirst = ({ meant, found }: Meant) => found[0] === meant
const isNamed = ({ meant, found }: Meant) => found.includes(meant)
/** An agent stands first that the phrase is not for. */
const isLedAstray = ({ meant, found: [first = ''] }: Meant) =>
  first !== meant && bundled.isAgent(first)
const isMissed = ({ plugin, found: [first = ''] }: TriedPhrase) => !first.startsWith(`${plugin}__`)
const count = <T>(of: readonly T[], is: (one: T) => boolean) => of.filter(is).length
const rate = <T>(of: readonly T[], is: (one: T) => boolean) =>
  `${count(of, is)} of ${of.length} (${Math.round((100 * count(of, is)) / of.length)} %)`

describe('M5, P7: of the phrases that must find a tool or an agent that ships', () => {
  it('each tool has some, and each is of a tool that there is', () => {
    expect(bundled.problems).toEqual([])
    for (const id of bundled.ids) {
      const { finds, misses } = triggersOf(id)
      const own = bundled.toolsOf(id).map(({ name }) => name.slice(id.length + 2))
      expect(own, id).toEqual(expect.arrayContaining(Object.keys(finds)))
      expect(
        own.filter((name) => !(name in finds) && name !== 'execute'),
        id,
      ).toEqual([])
      for (const phrases of Object.values(finds))
        expect(phrases.length, id).toBeGreaterThanOrEqual(3)
      expect(misses.length, id).toBeGreaterThanOrEqual(8)
    }
  })

  it('no fewer find it first, find it at all, and miss what they must miss than did', () => {
    const meant = tried.filter(isMeant)
    const misses = tried.filter((one) => !isMeant(one))
    console.log(
      `tools and agents: ${rate(meant, isFirst)} first, ${rate(meant, isNamed)} named, ${rate(misses, isMissed)} missed as they must`,
    )
    expect(count(meant, isFirst)).toBeGreaterThanOrEqual(least.first)
    expect(count(meant, isNamed)).toBeGreaterThanOrEqual(least.named)
    expect(count(misses, isMissed)).toBeGreaterThanOrEqual(least.misses)
  })

  it('no more name an agent first that they are not for, of those that are seen from the start and of the others', () => {
    const isPinned = ({ meant }: Meant) => defaultPinned.includes(meant)
    const meant = tried.filter(isMeant)
    const [pinned, searched] = [meant.filter(isPinned), meant.filter((one) => !isPinned(one))]
    console.log(
      `wrong agent first: ${rate(pinned, isLedAstray)} of pinned, ${rate(searched, isLedAstray)} of searched`,
    )
    expect(count(pinned, isLedAstray)).toBeLessThanOrEqual(most.pinned)
    expect(count(searched, isLedAstray)).toBeLessThanOrEqual(most.searched)
  })
})
