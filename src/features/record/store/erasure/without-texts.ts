import type { Json, JsonObject } from '#contracts/json.ts'

/**
 * Fields of events whose texts are kept, because they name no person: ids of ours, names of tools, agents and models,
 * codes. Every other text is erased. A test compares the list with the schemas of events.
 */
const keptFields: ReadonlySet<string> = new Set(
  `actions added agent agents allowed answer approval approved argsHash approver asked asker auth begunBy by calls callId call capability
  change client code confirmed confidentiality decidedBy decision definitionHash draft error event finishReason found from grant
  hash hook id integrity isolate key kind label left level lines limit limits listed method model modelCalls models newKey of on onOutcome origin owner parent parentCall passedOver pauses platform plugin policy principal provenance provider
  reason regained regainedServers regainedSkills removed request requestedModel resource role rule run runs sampling schedule scope
  scopes secret server session sinks skill skills slot source stage state stayed step step taint template text tier tool
  unexposed unpinned usage verdict version via withheld`.split(/\s+/),
)
/** An id, a name or a code: no sentence. */
const isWord = /^[\w.:/*@+-]{0,120}$/
const gone = '[erased]'

/** The payload of an event without its texts. Numbers and flags stay. */
export function withoutTexts(data: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(data).map(([field, value]) => [
      field,
      keptFields.has(field) ? kept(value) : emptied(value),
    ]),
  )
}

function kept(value: Json): Json {
  if (typeof value === 'string') return isWord.test(value) ? value : gone
  if (Array.isArray(value)) return value.map(kept)
  return typeof value === 'object' && value !== null ? withoutTexts(value as JsonObject) : value
}

/** An empty value of the same kind. */
function emptied(value: Json): Json {
  if (typeof value === 'string') return value === '' ? '' : gone
  if (Array.isArray(value)) return []
  return typeof value === 'object' && value !== null ? {} : value
}
