import { defined } from '#contracts/defined.ts'
import type {
  CompleteResult,
  GetPromptResult,
  InputRequiredResult,
} from '@modelcontextprotocol/server'
import { toStructured } from './types.ts'
import type { PromptListing } from '#contracts/manifest/manifest-offers.ts'
import { isMatchOfAny } from '#runtime/kernel/types/tool-policy.ts'
import { outputOf } from './call.ts'
import { isAsking, type McpRequest } from './mcp-call.ts'
import type { Inventory } from './offered.ts'
import { getSkillPrompt, listSkillPrompts } from './skills.ts'
import { invalidParams } from './older-clients.ts'

const maxSuggestions = 100

interface OfferedPrompt {
  readonly name: string
  readonly listing: PromptListing
}

const fullName = ({ owner, name }: PromptListing): string => `${owner}__${name}`

/** Prompts of the owners that an operator named: `<owner>__<name>`, or bare where that was chosen and is free. */
function offeredPrompts({ exposed, offers, skills }: Inventory): readonly OfferedPrompt[] {
  const taken = new Map<string, OfferedPrompt>()
  const fullNames = new Set(offers.prompts.map(fullName))
  for (const listing of offers.prompts.filter(({ owner }) => exposed.prompts.includes(owner))) {
    const full = fullName(listing)
    const bare = isMatchOfAny(full, exposed.bare_names) ? listing.name : full
    const isTaken = taken.has(bare) || fullNames.has(bare) || skills.includes(bare)
    const name = isTaken ? full : bare
    taken.set(name, { name, listing })
  }
  return [...taken.values()]
}

/** `prompts/list`: each under `<owner>__<name>`, without the values that are only suggested; then the skills. */
export async function listPrompts(asked: Pick<McpRequest, 'deps' | 'caller'>) {
  const own = offeredPrompts(asked.caller.inventory).map(({ name, listing }) => ({
    name,
    ...defined({ title: listing.title, description: listing.description }),
    arguments: listing.arguments.map(({ suggestions: _known, ...argument }) => argument),
  }))
  return { prompts: [...own, ...(await listSkillPrompts(asked))] }
}

/** A prompt that does not exist and a prompt that is not offered look alike. */
function find({ inventory }: McpRequest['caller'], name: string): OfferedPrompt {
  const prompt = offeredPrompts(inventory).find((one) => one.name === name)
  if (prompt) return prompt
  throw invalidParams('There is no such prompt.')
}

/** `prompts/get`: asks the owner, through every gate. A missing argument is an error of the protocol. */
export async function getPrompt(
  call: McpRequest,
  name: string,
  given: Readonly<Record<string, string>>,
): Promise<GetPromptResult | InputRequiredResult> {
  const skill = await getSkillPrompt(call, name, given['task'])
  if (skill) return skill
  const { listing } = find(call.caller, name)
  const missing = listing.arguments.find(
    (one) => one.required === true && given[one.name] === undefined,
  )
  if (missing) throw invalidParams(`${missing.name}: is required.`)
  const input = { name: listing.name, arguments: { ...given } }
  const answer = await outputOf(call, `${listing.owner}__get_prompt`, input)
  if (isAsking(answer)) return answer
  const { messages = [] } = Object(toStructured(answer.output))
  const { description } = listing
  return { messages, ...defined({ description }) } as GetPromptResult // by its contract
}

/** Values that a person may type for an argument, as the plugin's manifest suggests. Runs nothing. */
export function complete(
  { inventory }: McpRequest['caller'],
  prompt: string,
  argument: { readonly name: string; readonly value: string },
): CompleteResult {
  const found = offeredPrompts(inventory).find((one) => one.name === prompt)
  const known = found?.listing.arguments.find(({ name }) => name === argument.name)
  const all = (known?.suggestions ?? []).filter((one) => one.startsWith(argument.value))
  const values = all.slice(0, maxSuggestions)
  return { completion: { values, total: all.length, hasMore: all.length > values.length } }
}
