import type { Template } from '@huggingface/jinja'

type Node = Readonly<Record<string, unknown>> & { readonly type: string }

const globals: ReadonlySet<string> = new Set([
  'true',
  'false',
  'none',
  'True',
  'False',
  'None',
  'namespace',
])

/**
 * The names a template takes from outside, in order of first use: identifiers that it does not bind itself by
 * `set`, `for` or `macro`. Filters, tests, attributes and keyword names are not variables.
 */
export function collectVariables(program: Template['parsed']): readonly string[] {
  const free = new Set<string>()
  walkAll(program.body, new Set(globals), free)
  return [...free]
}

function isNode(value: unknown): value is Node {
  return (
    typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
  )
}

function walkAll(values: unknown, bound: Set<string>, free: Set<string>): void {
  for (const value of Array.isArray(values) ? values : [values]) {
    if (value instanceof Map) for (const pair of value) walkAll(pair, bound, free)
    else if (isNode(value)) walk(value, bound, free)
  }
}

/** `bound` is added to by `set`, as the engine does; a loop's or macro's own names stay inside it. */
function walk(node: Node, bound: Set<string>, free: Set<string>): void {
  switch (node.type) {
    case 'Identifier':
      if (typeof node.value === 'string' && !bound.has(node.value)) free.add(node.value)
      return
    case 'Set':
      walkAll([node.value, node.body], bound, free)
      bindNames(node.assignee, bound)
      return
    case 'For':
      return walkFor(node, bound, free)
    case 'Macro':
      bindNames(node.name, bound)
      return walkBody(node, node.args, new Set([...bound, 'caller', 'varargs', 'kwargs']), free)
    case 'CallStatement':
      walkAll(node.call, bound, free)
      return walkBody(node, node.callerArgs, new Set(bound), free)
    case 'FilterExpression':
    case 'FilterStatement':
      walkAll([node.operand, node.body].flat(), bound, free)
      return walkFilter(node.filter, bound, free)
    case 'TestExpression':
      return walkAll(node.operand, bound, free)
    case 'KeywordArgumentExpression':
      return walkAll(node.value, bound, free)
    case 'MemberExpression':
      walkAll(node.object, bound, free)
      if (node.computed === true) walkAll(node.property, bound, free)
      return
    default:
      for (const [key, child] of Object.entries(node))
        if (key !== 'type') walkAll(child, bound, free)
  }
}

function walkFor(node: Node, bound: Set<string>, free: Set<string>): void {
  const inside = new Set([...bound, 'loop'])
  bindNames(node.loopvar, inside)
  const { iterable } = node
  if (isNode(iterable) && iterable.type === 'SelectExpression') {
    walkAll(iterable.lhs, bound, free)
    walkAll(iterable.test, inside, free)
  } else walkAll(iterable, bound, free)
  walkAll(node.body, inside, free)
  walkAll(node.defaultBlock, new Set(bound), free)
}

/** A macro's or call block's parameters: defaults are read outside, names bound inside. */
function walkBody(node: Node, parameters: unknown, inside: Set<string>, free: Set<string>): void {
  for (const parameter of Array.isArray(parameters) ? parameters : []) {
    if (!isNode(parameter)) continue
    if (parameter.type === 'KeywordArgumentExpression') {
      walkAll(parameter.value, inside, free)
      bindNames(parameter.key, inside)
    } else bindNames(parameter, inside)
  }
  walkAll(node.body, inside, free)
}

function walkFilter(filter: unknown, bound: Set<string>, free: Set<string>): void {
  if (isNode(filter) && filter.type === 'CallExpression') walkAll(filter.args, bound, free)
}

function bindNames(target: unknown, bound: Set<string>): void {
  if (!isNode(target)) return
  if (target.type === 'Identifier' && typeof target.value === 'string') bound.add(target.value)
  if (target.type === 'TupleLiteral' && Array.isArray(target.value))
    for (const part of target.value) bindNames(part, bound)
}
