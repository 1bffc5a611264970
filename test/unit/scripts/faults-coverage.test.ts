import { expect, it } from 'vitest'
import { coverageFaults } from '../../faults/lib/report.mjs'

const points = ['a#one.1', 'a#two.1', 'a#three.1']
const faults = (given: object) =>
  coverageFaults({
    points,
    places: ['a#one.1 before', 'a#one.1 during'],
    exempt: {},
    chance: {},
    ...given,
  })

it('G1: the fault campaign names each await that no scenario reaches', () => {
  expect(faults({})).toEqual([
    'a#two.1 was reached by no scenario and is not in exempt.mjs',
    'a#three.1 was reached by no scenario and is not in exempt.mjs',
  ])
})

it('G1: an await is excused with a reason, or because timing decides', () => {
  expect(faults({ exempt: { 'a#two.1': 'why' }, chance: { 'a#three.1': 'why' } })).toEqual([])
})

it('G1: an excuse for an await that is reached, or that does not exist, is a mistake', () => {
  const exempt = { 'a#one.1': 'why', 'a#two.1': 'why', 'a#gone.1': 'why' }
  expect(faults({ exempt, chance: { 'a#three.1': 'why' } })).toEqual([
    'a#gone.1 is in exempt.mjs but does not exist',
    'a#one.1 is exempt but was reached',
  ])
  expect(faults({ places: points, chance: { 'a#one.1': 'why' } })).toEqual([])
})
