import type { Json, JsonObject } from '#contracts/json.ts'
import { isDistinct, spendText } from './equality.ts'
import {
  findingAt,
  findingBeside,
  findingIn,
  hasSeen,
  type Finding,
  type Visit,
  nameCost,
} from './visit.ts'

type Names = readonly string[]

/** The first keyword about members that an object breaks. */
export function objectFinding(visit: Visit<JsonObject>): Finding | undefined {
  const { schema, value, run } = visit
  const names = Object.keys(value)
  run.work.spend(nameCost * names.length)
  return (
    requiredFinding(visit) ??
    countFinding(visit, names.length, 'minProperties', 'maxProperties') ??
    namesFinding(visit, names) ??
    dependentFinding(visit) ??
    propertiesFinding(visit) ??
    (schema['additionalProperties'] === undefined
      ? restFinding(visit, names, 'unevaluatedProperties')
      : restFinding(visit, names, 'additionalProperties'))
  )
}

function requiredFinding(visit: Visit<JsonObject>): Finding | undefined {
  const { required } = visit.schema
  if (required === undefined) return undefined
  for (const name of required as Names) {
    visit.run.work.spend(nameCost)
    if (!Object.hasOwn(visit.value, name))
      return findingAt(visit, 'required', { setting: required, missing: name })
  }
  return undefined
}

function countFinding(visit: Visit, count: number, min: string, max: string): Finding | undefined {
  const { [min]: least, [max]: most } = visit.schema as Readonly<Record<string, number | undefined>>
  if (least !== undefined && count < least) return findingAt(visit, min, { setting: least })
  return most !== undefined && count > most ? findingAt(visit, max, { setting: most }) : undefined
}

function namesFinding(visit: Visit<JsonObject>, names: Names): Finding | undefined {
  const { propertyNames } = visit.schema
  if (propertyNames === undefined) return undefined
  return first(names, (name) => findingIn(visit, propertyNames, name, name))
}

function dependentFinding(visit: Visit<JsonObject>): Finding | undefined {
  const { dependentRequired, dependentSchemas } = visit.schema
  for (const [name, needed] of entriesOf(visit, dependentRequired)) {
    if (!Object.hasOwn(visit.value, name)) continue
    for (const missing of needed as Names) {
      visit.run.work.spend(nameCost)
      if (!Object.hasOwn(visit.value, missing))
        return findingAt(visit, 'dependentRequired', { setting: name, missing })
    }
  }
  return first(entriesOf(visit, dependentSchemas), ([name, schema]) =>
    Object.hasOwn(visit.value, name) ? findingBeside(visit, schema) : undefined,
  )
}

function entriesOf({ run }: Visit, setting: unknown): readonly (readonly [string, unknown])[] {
  if (setting === undefined) return []
  const entries = Object.entries(setting as object)
  // Listed here, looked up by the caller.
  run.work.spend(2 * nameCost * entries.length)
  return entries
}

function propertiesFinding(visit: Visit<JsonObject>): Finding | undefined {
  return first(entriesOf(visit, visit.schema['properties']), ([name, schema]) => {
    if (!Object.hasOwn(visit.value, name)) return undefined
    visit.seen?.add(name)
    return findingIn(visit, schema, name, visit.value[name])
  })
}

/** Checks the members that are not in `properties`, or that no other keyword has evaluated. */
function restFinding(
  visit: Visit<JsonObject>,
  names: Names,
  keyword: 'additionalProperties' | 'unevaluatedProperties',
): Finding | undefined {
  const { [keyword]: schema, properties } = visit.schema
  if (schema === undefined) return undefined
  const isKnown = (name: string): boolean => {
    // Looking a name up reads it.
    spendText(name, visit.run.work)
    return keyword === 'unevaluatedProperties'
      ? hasSeen(visit, name)
      : properties !== undefined && Object.hasOwn(properties as object, name)
  }
  return first(names, (name) => {
    if (isKnown(name)) return undefined
    visit.seen?.add(name)
    return findingIn(visit, schema, name, visit.value[name])
  })
}

/** The first keyword about items that a list breaks. */
export function listFinding(visit: Visit<readonly Json[]>): Finding | undefined {
  const { schema, value, run } = visit
  return (
    countFinding(visit, value.length, 'minItems', 'maxItems') ??
    itemsFinding(visit) ??
    containsFinding(visit) ??
    unevaluatedItemsFinding(visit) ??
    (schema['uniqueItems'] && !isDistinct(value, run.work)
      ? findingAt(visit, 'uniqueItems', { setting: true })
      : undefined)
  )
}

/** `prefixItems` and lists of `items` take one each, in this order; `items` and `additionalItems` the rest. */
function itemsFinding(visit: Visit<readonly Json[]>): Finding | undefined {
  const { prefixItems, items, additionalItems } = visit.schema
  const ones = [
    ...((prefixItems ?? []) as readonly unknown[]),
    ...(Array.isArray(items) ? items.slice(prefixLength(prefixItems)) : []),
  ]
  visit.run.work.spend(ones.length)
  const rest = Array.isArray(items) ? additionalItems : items
  const of = rest === undefined ? visit.value.slice(0, ones.length) : visit.value
  return first(of, (item, index) => {
    const schema = index < ones.length ? ones[index] : rest
    visit.seen?.add(String(index))
    return findingIn(visit, schema, String(index), item)
  })
}

const prefixLength = (prefix: unknown): number => (Array.isArray(prefix) ? prefix.length : 0)

function containsFinding(visit: Visit<readonly Json[]>): Finding | undefined {
  const { contains, minContains } = visit.schema
  if (contains === undefined) return undefined
  let count = 0
  for (const [index, item] of visit.value.entries()) {
    if (findingIn(visit, contains, String(index), item)) continue
    visit.seen?.add(String(index))
    count += 1
  }
  if (minContains === undefined && count === 0)
    return findingAt(visit, 'contains', { setting: contains })
  return countFinding(visit, count, 'minContains', 'maxContains')
}

function unevaluatedItemsFinding(visit: Visit<readonly Json[]>): Finding | undefined {
  const { unevaluatedItems } = visit.schema
  if (unevaluatedItems === undefined) return undefined
  return first(visit.value, (item, index) => {
    const name = String(index)
    if (hasSeen(visit, name)) return undefined
    visit.seen?.add(name)
    return findingIn(visit, unevaluatedItems, name, item)
  })
}

function first<T, F>(
  list: readonly T[],
  find: (item: T, index: number) => F | undefined,
): F | undefined {
  for (const [index, item] of list.entries()) {
    const found = find(item, index)
    if (found !== undefined) return found
  }
  return undefined
}
