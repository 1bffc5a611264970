import { join } from 'node:path'
import { expect, it } from 'vitest'
import { rateOf, tryTriggers } from '../../../cli/skill-triggers.ts'

/** The measured counts: no fewer phrases may do what they must. A search by words never gets all of them. */
const least = { finds: 74, misses: 52 }

it('P7, P8: of the phrases that must find a skill that ships, and that must not, no fewer do than did', async () => {
  const tried = await tryTriggers([join(import.meta.dirname, '../../../skills')])
  const [finds, misses] = [rateOf(tried, 'finds'), rateOf(tried, 'misses')]
  const percent = ({ right, of }: typeof finds) =>
    `${right} of ${of} (${Math.round((100 * right) / of)} %)`
  // oxlint-disable-next-line no-console -- the rates are for an author who changes a description
  console.log(`skills: ${percent(finds)} found, ${percent(misses)} missed as they must`)
  for (const { name, problem, phrases } of tried) {
    expect(problem, name).toBeUndefined()
    const found = phrases.filter(({ kind }) => kind === 'finds')
    expect(found.length, name).toBeGreaterThanOrEqual(8)
    expect(found.filter(({ ok }) => ok).length / found.length, name).toBeGreaterThanOrEqual(0.75)
  }
  expect(finds.right).toBeGreaterThanOrEqual(least.finds)
  expect(misses.right).toBeGreaterThanOrEqual(least.misses)
})
