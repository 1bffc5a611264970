import { describe, expect, test } from 'vitest'
import type { PromptTemplate } from '../../../src/features/memory/types.ts'
import { cpuMs } from '../../fakes/cpu-ms.ts'
import { createPromptStore } from '../../../src/features/memory/prompt-store.ts'

const template = (text: string, overrides: Partial<PromptTemplate> = {}): PromptTemplate => ({
  id: 'p',
  version: '1',
  text,
  requiredVars: [],
  engine: 'jinja',
  metadata: {},
  createdBy: 'test',
  ...overrides,
})
const render = (
  text: string,
  variables: Record<string, unknown> = {},
  requiredVars: readonly string[] = [],
) => {
  const store = createPromptStore()
  store.put(template(text, { requiredVars }))
  return store.render('p', variables).text
}
const refused = (message: RegExp) =>
  expect.objectContaining({
    code: 'plugin_prompt_invalid',
    message: expect.stringMatching(message) as string,
  }) as Error

describe('C4: rendering is strict', () => {
  test('variables, loops, conditions, filters and set work', () => {
    const text =
      '{% set greeting = "Hi" %}{{ greeting }} {{ user.name | upper }}{% for tool in tools %} {{ loop.index }}:{{ tool.id }}{% endfor %}{% if flag %}!{% endif %}'
    expect(
      render(text, { user: { name: 'ada' }, tools: [{ id: 'a' }, { id: 'b' }], flag: true }),
    ).toBe('Hi ADA 1:a 2:b!')
  })

  test.each([
    ['a variable that is used but not given', '{{ a }} {{ b }}', { a: 1 }, /unknown variables: b/],
    [
      'one in a branch that is not taken',
      '{% if false %}{{ b }}{% endif %}',
      {},
      /unknown variables: b/,
    ],
    ['one behind a filter', '{{ b | default("x") }}', {}, /unknown variables: b/],
    ['one that is given as undefined', '{{ a }}', { a: undefined }, /unknown variables: a/],
    [
      "one that only an object's prototype has",
      '{{ constructor }}',
      {},
      /unknown variables: constructor/,
    ],
    [
      'one after the loop that bound it',
      '{% for x in [1] %}{{ x }}{% endfor %}{{ x }}',
      {},
      /unknown variables: x/,
    ],
    ['a variable that the text does not use', 'a', { typo: 1 }, /does not use: typo/],
    ['a missing member', '{{ user.nam }}', { user: { name: 'ada' } }, /user\.nam is not defined/],
    [
      'a missing member in a loop',
      '{% for t in tools %}{{ t.nam }}{% endfor %}',
      { tools: [{ name: 1 }] },
      /t\.nam is not defined/,
    ],
    ['the clock', '{{ strftime_now("%Y") }}', {}, /unknown variables: strftime_now/],
    [
      'an unbounded loop',
      '{% for i in range(1000000000) %}x{% endfor %}',
      {},
      /unknown variables: range/,
    ],
  ])('refuses %s', (_what, text, variables, message) => {
    expect(() => render(text, variables)).toThrow(refused(message))
  })

  test('names every required variable that is missing', () => {
    expect(() => render('{{ a }}{{ b }}', {}, ['a', 'b'])).toThrow(
      refused(/required variables are missing: a, b/),
    )
  })

  test('a value is text, never a template', () => {
    expect(render('{{ a }}', { a: '{{ b }} {% raw %}' })).toBe('{{ b }} {% raw %}')
  })
})

describe('validate', () => {
  const { validate } = createPromptStore()
  test.each([
    ['bad syntax', template('{% if %}'), /not valid Jinja/],
    [
      'a required variable that is not used',
      template('a', { requiredVars: ['b'] }),
      /does not use: b/,
    ],
    ['more than 64 KiB', template('é'.repeat(32_769)), /65538 bytes/],
  ])('refuses %s', (_what, bad, message) => expect(() => validate(bad)).toThrow(refused(message)))

  test('64 KiB are allowed', () =>
    expect(() => validate(template('x'.repeat(65_536)))).not.toThrow())
})

describe('B 2: a template takes bounded work', () => {
  const chars = 65_000
  test.each([
    ['a run of blanks', `a${' '.repeat(chars)}b`],
    ['a run of lines', `a${'\n'.repeat(chars)}b`],
    ['a run of tabs and lines', `a${'\t\n'.repeat(chars / 2)}b`],
    ['blanks within an expression', `{{ a${' '.repeat(chars)}}}`],
    ['blanks behind the begin of a statement', `{%${' '.repeat(chars)}x`],
    ['blanks behind a tag of another project', `{% generation${' '.repeat(chars)}`],
    ['expressions that are not closed', '{{'.repeat(chars / 2)],
    ['comments that are not closed', '{#'.repeat(chars / 2)],
    ['brackets', `{{ ${'('.repeat(chars)}`],
    ['minus signs', `{{ ${'-'.repeat(chars)}1 }}`],
  ])('%s: 65,000 characters are read about as fast as they are long', (_name, text) => {
    const store = createPromptStore()
    const read = (wanted: string) => {
      const startedAt = cpuMs()
      try {
        store.validate(template(wanted))
      } catch {
        // Most are no template.
      }
      return cpuMs() - startedAt
    }
    const fastest = (wanted: string) => Math.min(...[1, 2, 3].map(() => read(wanted)))
    // A square would be 100 times as long.
    const half = text.slice(0, 6_500)
    expect(fastest(text)).toBeLessThan(Math.max(15 * fastest(half), 150))
  })
  test.each([
    ['blanks', `a${' '.repeat(60_000)}b`],
    ['lines', `a${'\n'.repeat(60_000)}b`],
  ])('%s stay as they are', (_name, text) => expect(render(text)).toBe(text))

  const row = `[${Array.from({ length: 100 }, (_one, at) => at).join(',')}]`
  const loops = (depth: number) =>
    `${'{% for x in ROW %}'.repeat(depth)}x${'{% endfor %}'.repeat(depth)}`.replaceAll('ROW', row)
  test.each([
    ['loops in loops', loops(4), /more than 100000 steps/],
    [
      'a text that doubles',
      `{% set a = "xxxxxxxxxxxxxxxx" %}${'{% set a = a ~ a %}'.repeat(40)}{{ a }}`,
      /longer than 1000000 characters/,
    ],
    [
      'a macro in a macro',
      `{% macro m0() %}x{% endmacro %}${Array.from({ length: 12 }, (_one, at) => `{% macro m${at + 1}() %}${`{{ m${at}() }}`.repeat(8)}{% endmacro %}`).join('')}{{ m12() }}`,
      /steps/,
    ],
    [
      'a list that doubles',
      `{% set a = [1] %}${'{% set a = a + a %}'.repeat(40)}{{ a | length }}`,
      /entries/,
    ],
    [
      'a filter over all',
      `{% set a = "x" %}${'{% set a = a | replace("x", "xxxxxxxxxx") %}'.repeat(12)}{{ a }}`,
      /longer than/,
    ],
  ])('%s: rendering stops, and says at what', (_name, text, message) => {
    expect(() => render(text)).toThrow(refused(message))
  })
})

describe('I22: versions', () => {
  test('the last one put is the one without a version; older ones stay', () => {
    const store = createPromptStore()
    store.put(template('one'))
    store.put(template('two', { version: '2' }))
    expect(store.get('p')?.text).toBe('two')
    expect(store.render('p', {}, '1')).toEqual({
      text: 'one',
      template: 'p',
      version: '1',
      estimatedTokens: 1,
    })
    expect(store.list().map(({ version }) => version)).toEqual(['1', '2'])
    expect(store.get('p', '3')).toBeUndefined()
  })

  test('the same version with another text is refused, with the same text it is there already', () => {
    const store = createPromptStore()
    store.put(template('one'))
    store.put(template('one'))
    expect(() => store.put(template('other'))).toThrow(refused(/another text/))
    expect(store.list()).toHaveLength(1)
  })

  test('a prompt that is not known cannot be rendered', () => {
    expect(() => createPromptStore().render('nowhere', {})).toThrow(
      refused(/"nowhere" is not known/),
    )
  })

  test('tokens are estimated as a quarter of the characters, rounded up', () => {
    const store = createPromptStore()
    store.put(template('12345'))
    expect(store.render('p', {}).estimatedTokens).toBe(2)
  })
})
