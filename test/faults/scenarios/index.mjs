// All scenarios. A new file is added here.
import { scenarios as basic } from './basic.mjs'
import { scenarios as compactions } from './compactions.mjs'
import { scenarios as handoffs } from './handoffs.mjs'
import { scenarios as outside } from './outside.mjs'
import { scenarios as owners } from './owners.mjs'
import { scenarios as surfaces } from './surfaces.mjs'
import { scenarios as trees } from './trees.mjs'

export const scenarios = [
  ...basic,
  ...trees,
  ...outside,
  ...owners,
  ...handoffs,
  ...surfaces,
  ...compactions,
]

export const scenarioNamed = (name) => {
  const found = scenarios.find((scenario) => scenario.name === name)
  if (!found) throw new Error(`there is no scenario "${name}"`)
  return found
}
