import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import * as z from 'zod'
import * as shims from '../../../src/platform/shims/zod.ts'

const root = join(import.meta.dirname, '../../..')
const classic = join(dirname(createRequire(import.meta.url).resolve('zod')), 'v4/classic')
const textOf = (path: string) => readFileSync(path, 'utf8')

test('the stand-in for the writing of JSON Schema has every name that zod takes of it', () => {
  const schemas = textOf(join(classic, 'schemas.js'))
  const names = [...schemas.matchAll(/\bprocessors\.(\w+)/g)].map(([, name]) => name)
  const [, methods = ''] =
    /^import \{ (.*) \} from "\.\.\/core\/to-json-schema\.js";$/m.exec(schemas) ?? []
  expect(names.length).toBeGreaterThan(30)
  expect(new Set(Object.keys(shims))).toEqual(
    new Set([...names, ...methods.split(', '), 'toJSONSchema']),
  )
})

test('a request to the Worker for the JSON Schema of a schema is told what is missing', () => {
  for (const unused of Object.values(shims))
    expect(unused).toThrow(/no code that writes JSON Schema/)
})

test('nothing asks zod for JSON Schema but what writes docs/openapi.json beforehand', () => {
  const asks = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && path !== 'platform/shims/zod.ts')
    .filter((path) =>
      /toJSONSchema|jsonSchema\.(?:input|output)/.test(textOf(join(root, 'src', path))),
    )
  expect(asks).toEqual(['surfaces/http/openapi/document.ts'])
  expect(textOf(join(root, 'src/surfaces/http/app.ts'))).not.toContain('./schema.ts')
  expect(z.toJSONSchema(z.string())).toMatchObject({ type: 'string' })
})
