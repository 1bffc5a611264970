import { expect, it } from 'vitest'
import { argumentsIn } from '../../../cli/options.ts'
import { fieldsOfRoute } from '../../fakes/example-replies.ts'
import { allVerbs } from '../../fakes/verb-words.ts'

const camelCase = (name: string) =>
  name.replace(/-(\w)/g, (_all, letter: string) => letter.toUpperCase())

const asking = allVerbs.flatMap(({ name, verb: { route, usage, options = {} } }) =>
  route === undefined ? [] : [{ name, route, usage, options }],
)

it.each(asking)('$name sends fields that $route has', ({ route, usage, options }) => {
  const fields = Object.entries(options).flatMap(([name, { to = camelCase(name) }]) =>
    to === null ? [] : [to.split('.')[0]],
  )
  const parameters = route.match(/:\w+/g)?.length ?? 0
  const known = fieldsOfRoute(route)
  expect(known).toEqual(
    expect.arrayContaining([...fields, ...argumentsIn(usage).slice(parameters)]),
  )
})

it('refuses a field that a route has not', () => {
  expect(fieldsOfRoute('GET /api/schedules')).not.toContain('nobody')
})
