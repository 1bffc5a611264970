import { expect, it } from 'vitest'
import { matchUriTemplate } from '../../../src/features/plugins/types/uri-template.ts'
import { parseUriTemplate } from '#contracts/manifest/manifest-offers.ts'
import { cpuMs } from '../../fakes/cpu-ms.ts'

function match(template: string, uri: string) {
  const parsed = parseUriTemplate(template)
  if (typeof parsed === 'string') throw new Error(parsed)
  return matchUriTemplate(parsed, uri)
}

it.each([
  ['test://template/{id}/data', 'test://template/123/data', { id: '123' }],
  ['test://template/{id}/data', 'test://template/a%20b%2Fc/data', { id: 'a b/c' }],
  ['note://{year}-{month}', 'note://2026-11', { year: '2026', month: '11' }],
  ['note://{name}', 'note://datadata', { name: 'datadata' }],
  ['note://{name}.txt', 'note://a.txt.txt', { name: 'a.txt' }],
])('%s describes %s', (template, uri, variables) => {
  expect(match(template, uri)).toEqual(variables)
})

it.each([
  ['test://template/{id}/data', 'test://template//data'],
  ['test://template/{id}/data', 'test://template/1/2/data'],
  ['test://template/{id}/data', 'test://template/1/date'],
  ['test://template/{id}/data', 'test://other/1/data'],
  ['test://template/{id}/data', 'test://template/%E0%A4%A/data'],
  ['note://{a}-{b}', 'note://a-'],
  ['note://{name}', `note://${'x'.repeat(3_000)}`],
])('%s does not describe %.40s', (template, uri) => {
  expect(match(template, uri)).toBeUndefined()
})

it.each([
  ['note://one', /has no \{variable\}/],
  ['note://{a}{b}', /nothing between them/],
  ['note://{a}/{a}', /names a variable twice/],
  ['note://{+path}', /\{\+path\} is no simple variable/],
  ['note://{a', /a brace without its other half/],
  ['note://{uri}', /\{uri\} is taken/],
  ['note://{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}', /more than 8 variables/],
])('refuses the template %s', (template, problem) => {
  expect(parseUriTemplate(template)).toMatch(problem)
})

it('T13: takes no longer for a URI that was made to be matched in many ways', () => {
  const started = cpuMs()
  expect(match('x:{a}a{b}a{c}a{d}a{e}a{f}a{g}a{h}z', `x:${'a'.repeat(2_000)}`)).toBeUndefined()
  expect(cpuMs() - started).toBeLessThan(50)
})
