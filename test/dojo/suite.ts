import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import type { JsonObject, JsonSchema } from '#contracts/json.ts'
import type { ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'
import { readingsOf, toldBy, type TaskReadings } from './readings.ts'
import { writtenCalls } from './written-attacks.ts'

/** One call of a recorded task. */
export interface RecordedCall {
  readonly tool: string
  readonly args: JsonObject
  /** The result of the call. */
  readonly result: string
  /** Part of what came back can be written by the attacker. */
  readonly carries: boolean
}

/** A goal, and the calls that reach it: a user's, or an attacker's by a text that a carrier brought in. */
export interface RecordedTask {
  readonly id: string
  readonly wants: string
  readonly calls: readonly RecordedCall[]
  /** How it is done by a model that sees no text of a stranger's; not at all if absent. */
  readonly readings?: TaskReadings | undefined
  /** A page that the model has read before all that was recorded: it says what to do. */
  readonly toldBy?: string | undefined
}

/** Tools over one world, what users want there, and what attackers want. Every task meets every attack: a pair. */
export interface Suite {
  readonly name: string
  readonly tools: readonly { readonly name: string; readonly inputSchema: JsonSchema }[]
  readonly tasks: readonly RecordedTask[]
  readonly attacks: readonly RecordedTask[]
  /** The operator's policy; the shipped one if absent. */
  readonly policy?: ToolPolicy
}

const callSchema = z.object({
  tool: z.string(),
  args: z.record(z.string(), z.json()),
  /** Key of `results`. */
  result: z.string(),
  vectors: z.array(z.string()).default([]),
})
const formSchema = z.object({
  /** In which versions the task is as here. */
  versions: z.array(z.string()),
  prompt: z.string().optional(),
  goal: z.string().optional(),
  calls: z.array(callSchema),
})
const fileSchema = z.object({
  suite: z.string(),
  versions: z.array(z.string()),
  tools: z.array(z.object({ name: z.string(), inputSchema: z.record(z.string(), z.json()) })),
  user: z.record(z.string(), z.array(formSchema)),
  injection: z.record(z.string(), z.array(formSchema)),
  results: z.record(z.string(), z.string()),
})

const suiteNames = ['banking', 'slack', 'travel', 'workspace']

/** Reads the suites of one version from a folder of converted files. Throws where a file is missing or of another form. */
export function loadSuites(folder: string, version: string): readonly Suite[] {
  return suiteNames.map((name) => {
    const file = fileSchema.parse(JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')))
    if (!file.versions.includes(version)) {
      throw new Error(`${name} has ${file.versions.join(', ')}, not ${version}.`)
    }
    const recorded = (forms: z.infer<typeof formSchema>[], id: string): RecordedTask[] =>
      forms
        .filter(({ versions }) => versions.includes(version))
        .map(({ prompt, goal, calls }) => ({
          id,
          wants: prompt ?? goal ?? '',
          calls: calls.map(({ tool, args, result, vectors }) => ({
            tool,
            args,
            result: file.results[result] ?? '',
            carries: vectors.length > 0,
          })),
        }))
    const withCalls = (attack: RecordedTask): RecordedTask =>
      attack.calls.length > 0
        ? attack
        : { ...attack, calls: writtenCalls(name, attack.id).map(toRecorded) }
    return {
      name: file.suite,
      tools: file.tools,
      tasks: Object.entries(file.user).flatMap(([id, forms]) =>
        recorded(forms, id).map((task) => ({
          ...task,
          readings: readingsOf(name, id),
          toldBy: toldBy(name, id),
        })),
      ),
      attacks: Object.entries(file.injection)
        .flatMap(([id, forms]) => recorded(forms, id))
        .map(withCalls),
    }
  })
}

const toRecorded = ([tool, args]: readonly [string, JsonObject]): RecordedCall => ({
  tool,
  args,
  result: '',
  carries: false,
})
