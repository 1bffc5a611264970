import { defined } from '#contracts/defined.ts'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import { citationOf } from '../types.ts'
import type { KnowledgeGateway, FoundPassage } from '#features/record/types/knowledge.ts'
import type { KnowledgeSettings } from '#contracts/manifest/agent-manifest.ts'
import { labelFrom, joinLabels, type Label } from '#contracts/label.ts'
import { memoryScopes, type MemoryScope } from '#contracts/long-term.ts'
import type { Tool, ToolContext, ToolEntry, ToolResult } from '#contracts/tool.ts'
import type { JsonObject } from '#contracts/json.ts'
import { placeOf } from '#features/plugins/types/memory.ts'

/** Whose documents are searched, and how many passages are wanted. */
interface PassagesWanted {
  readonly principal: string
  readonly agent: string
  readonly scopes: readonly MemoryScope[]
  readonly query: string
  readonly limit: number
}

/**
 * The best passages of all scopes that an agent reaches, from its principal's object and the deployment's.
 */
export async function searchPassages(
  gateway: KnowledgeGateway,
  { principal, agent, scopes, query, limit }: PassagesWanted,
): Promise<readonly FoundPassage[]> {
  const asked = { verb: 'search', query, limit } as const
  const places = scopes
    .filter((scope) => scope !== 'deployment')
    .map((scope) => placeOf(scope, agent))
  const answers = await Promise.all([
    ...(places.length > 0 ? [gateway.ofPrincipal(principal)({ ...asked, places })] : []),
    ...(scopes.includes('deployment') ? [gateway.ofDeployment()(asked)] : []),
  ])
  return answers
    .flatMap(({ passages = [] }) => passages)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, limit)
}

/** The label of these passages together. */
export const labelOfPassages = (passages: readonly FoundPassage[]): Label =>
  joinLabels([labelFrom('knowledge', { integrity: 'data' }), ...passages.map(({ label }) => label)])

export interface KnowledgeToolDeps {
  readonly gateway: KnowledgeGateway
  /** The settings of an agent's manifest or definition; `undefined` if it has none, and for the orchestrator. */
  readonly settingsOf: (
    agent: string,
    context: ToolContext,
  ) => Promise<KnowledgeSettings | undefined>
}

/** Its name begins so. */
const toolOwner = 'knowledge'
const name = `${toolOwner}__search`
const defaultLimit = 5

/** The tools that search documents: found like any other tool, and in no prompt. */
export function createKnowledgeTools(deps: KnowledgeToolDeps) {
  const tool: Tool = {
    name,
    description:
      'Search documents (handbooks, manuals, notes, papers) that were put here to be looked things up in. ' +
      'Gives passages with where each is: cite that.',
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          minLength: 1,
          maxLength: 1_000,
          description: 'Words that the passage would have.',
        },
        scope: { enum: [...memoryScopes], description: 'Whose documents; all by default.' },
        limit: { type: 'integer', minimum: 1, maximum: 20, default: defaultLimit },
      },
      required: ['query'],
      additionalProperties: false,
    },
    execute: (input, context) => searchTool(input, context, deps),
  }
  const entry: ToolEntry = {
    tool,
    isReadOnly: true,
    sinks: [],
    isIdempotent: true,
    // Each document has a label of its own; at worst a stranger wrote it.
    yields: labelFrom('knowledge'),
    timeoutMs: 20_000,
    definitionHash: `core:1:${name}`,
    record: { plugin: 'isola' },
  }
  const offers = { resources: [], prompts: [] }
  return { id: toolOwner, entries: [entry], isExclusive: false, offers }
}

async function searchTool(
  { query, scope, limit = defaultLimit }: JsonObject,
  context: ToolContext,
  { gateway, settingsOf }: KnowledgeToolDeps,
): Promise<ToolResult> {
  try {
    const { principal, agent } = context
    const { scope: reached } = (await settingsOf(agent, context)) ?? { scope: memoryScopes }
    const scopes = scope === undefined ? reached : [scope as MemoryScope]
    const missed = scopes.find((one) => !reached.includes(one))
    if (missed !== undefined) return failed(`scope: this agent has ${reached.join(', ')}.`)
    const passages = await searchPassages(gateway, {
      principal,
      agent,
      scopes,
      query: String(query),
      limit: Number(limit),
    })
    return {
      ok: true,
      output: {
        passages: passages.map((one) => ({
          cite: citationOf(one),
          ...defined({ title: one.document.title }),
          document: one.document.id,
          text: one.text,
        })),
        ...(passages.length === 0 && { note: 'No document says anything of this.' }),
      },
      taint: [`tool:${name}`],
      label: labelOfPassages(passages),
    }
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return failed(errorMessage(error), errorCode(error) === 'request_unavailable')
  }
}

const failed = (message: string, transient = false): ToolResult => ({
  ok: false,
  error: { code: 'tool_failed', message, ...(transient && { transient }) },
})
