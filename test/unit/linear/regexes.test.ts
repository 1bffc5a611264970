// @alone: it loads modules anew, and what they make by `new RegExp` is looked at.
import { describe, expect, test } from 'vitest'
import { madeBy, regexesOf } from './find.ts'
import { growthOfRegex, slowRunOf } from './measure.ts'

const { found, made } = regexesOf()

/** Patterns that are made while a function runs, with the reason why each is linear; patterns of modules are looked at. */
const madeLater: Readonly<Record<string, string>> = {
  'src/features/plugins/store/bundles.ts':
    'parts of one length: each match begins where the one before ended',
  'src/features/plugins/secrets/placeholders.ts': 'a fixed text around at most 64 characters',
  'src/platform/models/openai/failures.ts': 'the name of a model, each character of it escaped',
  'src/platform/models/offline/plan.ts': 'the name of an argument, each character of it escaped',
  'src/runtime/catalog/toolset.ts': 'two parts, each behind a mark that no part has',
  'plugins/price-monitor/find-price.ts': 'an attribute of at most 300 characters',
}

/** Each once, with the places where it is written. */
const distinct = Map.groupBy(found, ({ regex }) => String(regex))

describe('B 1, B 2: no regular expression takes the square of a text', () => {
  test('all of src, plugins and the command are looked at', () => {
    expect(found.length).toBeGreaterThan(500)
    const places = new Set(found.map(({ file }) => file.split('/')[0]))
    expect(places).toEqual(new Set(['cli', 'plugins', 'src']))
  })

  test('runs of what each names, at each of its repeats', () => {
    const slow = [...distinct.values()].flatMap(([one]) => {
      const { slow: run } = slowRunOf(one!.regex)
      return run ? [`${one!.file}:${one!.line} ${one!.regex} ${JSON.stringify(run)}`] : []
    })
    expect(slow).toEqual([])
  })

  test('200,000 and 2,000,000 of each character that it names take at most 15 times as long', () => {
    const slow = [...distinct.values()].flatMap(([one]) => {
      const { isLinear, said } = growthOfRegex(one!.regex)
      return isLinear ? [] : [`${one!.file}:${one!.line} ${one!.regex} ${said}`]
    })
    expect(slow).toEqual([])
  })

  test.each([...made])('what %s makes by `new RegExp`, too', async (file) => {
    const regexes = await madeBy(file)
    if (madeLater[file] === undefined) expect(regexes.length).toBeGreaterThan(0)
    expect(regexes.flatMap((regex) => slowRunOf(regex).slow ?? [])).toEqual([])
  })

  test('each exception for regular expressions that are made later names a file that makes some', () => {
    expect(Object.keys(madeLater).filter((file) => !made.has(file))).toEqual([])
  })
})

describe('the guard says no', () => {
  test.each([
    ['a heading of Markdown', /^ {0,3}(#{1,6})(?:[ \t]+|$)(.*?)[ \t#]*$/],
    ['a tag of another project in a template', /(\s*){%(-?)\s*(?:end)?generation\s*(-?)%}(\s*)/gs],
    ['a message of YAML', /\s*[\r\n]\s*/g],
    ['a question of a server', /\s*\n\s*/g],
    ['braces that are not closed', /\{\{([^]*?)\}\}/g],
    ['what looks like a key', /(?=[a-z0-9]*\d)(?=[a-z0-9]*[a-z])[a-z0-9]{16,}/i],
    ['blanks at an end', /\s+$/],
    ['a comment', /\/\*.*?\*\//gs],
    ['a choice within a repeat', /^(?:a|a)*$/],
    ['a repeat within a repeat', /^(a+)+$/],
    ['two repeats of the same', /^\w*\d*[a-z]*$/],
    ['letters of any script', /[\p{L}\p{N}]+@/u],
    ['a name behind a mark', /@[^ ]*:/g],
    ['an address', /\w+:\/\/\S+/],
  ])('to %s: %s', (_name, regex) => {
    expect(slowRunOf(regex).slow).toBeDefined()
  })
  test.each([/^\s+/, /(?<!\s)\s+$/, /[^"]*/, /\{[^{}]*\}/g, /^(?:[a-z]+-)*[a-z]+$/, /a{1,64}b/])(
    'and to none that is linear: %s',
    (regex) => {
      expect(slowRunOf(regex).slow).toBeUndefined()
    },
  )
})
