import type { Json } from '#contracts/json.ts'
import { joinLabels, type Label } from '#contracts/label.ts'
import type { OutputStore } from '#runtime/kernel/types/policy.ts'
import type { ToolContext, ToolEntry, ToolResult, Toolset } from '#contracts/tool.ts'
import { corePrefix } from './core-tools.ts'
import type { createUnseenWords } from './unseen-words.ts'

/** Its input `code` is run, and a stranger's words must not become a program. */
const codeName = 'code__run'

/** The label of a handle: its text is ours, with no words of a stranger. */
const handleLabel: Label = { integrity: 'tool', confidentiality: 'public', sources: [] }

/**
 * A toolset that keeps results out of the context if a stranger can have written them: the model gets a handle. A
 * result that cannot be stored comes back as it is, with its label. A call may be filled with words of such results
 * that the model has not seen. Its result may repeat these, so it has their label.
 */
export function withResultsAside(
  toolset: Toolset,
  { keep }: Pick<OutputStore, 'keep'>,
  words: Pick<ReturnType<typeof createUnseenWords>, 'accept' | 'in' | 'told'>,
  readTools: { readonly narrow: string; readonly whole: string },
): Toolset {
  const known = new WeakMap<ToolEntry, ToolEntry>()
  const aside = (entry: ToolEntry): ToolEntry => {
    if (entry.tool.name.startsWith(corePrefix)) return entry
    const made = known.get(entry) ?? {
      ...entry,
      tool: {
        ...entry.tool,
        async execute(input, context) {
          const unseen = words.in(input)
          const result = await entry.tool.execute(input, context)
          // A bundled tool labels its values itself. Other code may repeat, in this call, words that any earlier call
          // gave it.
          const told = unseen?.label ?? (isOurs(entry) ? undefined : await words.told(context))
          const label = told && joinLabels([result.label ?? entry.yields, told])
          return keptAside(label ? { ...result, label } : result, entry, context)
        },
      },
    }
    known.set(entry, made)
    return made
  }
  const note = `What came back can be written by anybody, so it is kept aside. Ask for values in it with ${readTools.narrow}. With ${readTools.whole} you read all of it, and what you do after that may need somebody's approval: such calls are asked about together if you make them in one turn.`
  async function keptAside(
    result: ToolResult,
    { yields, tool: { name } }: ToolEntry,
    context: ToolContext,
  ): Promise<ToolResult> {
    const label = joinLabels([result.label ?? yields])
    const { directCall } = context.options
    // The user is to hear it as it is, and the model reads it later, if at all.
    const isSpoken = directCall?.floor !== undefined || (result.ok && result.floor !== undefined)
    // A direct call has no model that could read a text.
    if (label.integrity !== 'stranger' || isPaused(result) || (directCall && !isSpoken))
      return result
    // Results that its code read from other tools count all the same.
    if (context.inner?.label?.().integrity === 'stranger') return result
    const content = contentOf(result)
    const { session, rootSession, run, call } = context
    const kept = { session, rootSession, run, call, label }
    const { handle } = await keep(kept, JSON.stringify(content) ?? 'null')
    if (typeof handle !== 'string') return result
    if (isSpoken) return { ...result, aside: { output: { handle, note }, label: handleLabel } }
    if (result.ok) return { ...result, output: { handle, note }, label: handleLabel }
    const message = `The tool ${name} failed. What it said of that is kept aside as ${handle}. ${note}`
    return { ...result, error: { ...result.error, message }, label: handleLabel }
  }
  return {
    ...toolset,
    resolve(name, input) {
      const resolved = toolset.resolve(name, input)
      if (!resolved) return undefined
      const { entry, input: given } = resolved
      // Code that makes the agent's own calls gets no words of a stranger: the calls themselves get them.
      const writesCalls = entry.inner?.resolve === 'agent'
      if (!entry.tool.name.startsWith(corePrefix) && !writesCalls)
        words.accept(given, entry.tool.name === codeName ? 'code' : undefined)
      return { ...resolved, entry: aside(entry) }
    },
  }
}

const isOurs = ({ record }: ToolEntry): boolean => record.tier === 'builtin'

function contentOf(result: ToolResult): Json {
  if (!result.ok) return { error: { code: result.error.code, message: result.error.message } }
  const { output, floor } = result
  return floor && 'return' in floor ? { said: output, summary: floor.return.summary } : output
}

const isPaused = (result: ToolResult): boolean => !result.ok && result.pause !== undefined
