import * as z from 'zod'
import { scheduleRequest } from '../schedule-requests.ts'
import { agentManifest, checkAgentHandoff } from './agent-manifest.ts'
import { ownerId } from './manifest.ts'
import { roles } from '../keys.ts'
import { refuseHidden } from '../visible-text.ts'

const maxInstructionChars = 64_000
export const permission = z.enum(['see', 'run', 'edit'])
const permissions = z.array(permission).min(1).max(3)

const isFileName = (text: string) => /^[\w./-]+\.(md|txt|jinja|j2)$/.test(text)

/** Fields that may have several lines. A name, a tool, a model and an event have one line. */
const texts = new Set([
  'description',
  'input',
  'instructions',
  'output_schema',
  'stop',
  'task',
  'variables',
])

/** As in a manifest; the instructions are the text itself, which the command line reads from their file. */
const base = agentManifest.unwrap()
export const section = base
  .extend({
    integration_mode: base.shape.integration_mode.default('tool'),
    model: base.shape.model.default('default'),
    instructions: z
      .string()
      .trim()
      .min(1)
      .max(maxInstructionChars)
      .refine(
        (text) => !isFileName(text),
        'is the text itself here, not the name of a file: isola agent add reads a folder with its files',
      ),
  })
  .superRefine(checkAgentHandoff)
  .superRefine(refuseHidden('line', texts))

/** The work of its firings, as of any schedule; the agent itself works. */
const { when, task, check, catchUp, overlap, daily, deliver, ...others } = scheduleRequest.shape
const { notAfterMinutes, jitterSeconds, stopAfterFailures, heartbeat } = others
const schedule = z
  .strictObject({
    when: when.unwrap(),
    task: task.unwrap(),
    check,
    catchUp,
    notAfterMinutes,
    overlap,
    jitterSeconds,
    daily,
    stopAfterFailures,
    deliver,
    heartbeat,
  })
  .refine((asked) => !asked.heartbeat || asked.check, {
    path: ['check'],
    error: 'is required of a heartbeat: a tool that is asked first, without a model',
  })
  .superRefine(refuseHidden('line', texts))

export const about = {
  name: z.string().min(1).max(80).superRefine(refuseHidden('line')),
  description: z.string().min(1).max(2_000).superRefine(refuseHidden('text')),
  natural_language_description: z.string().max(4_000).superRefine(refuseHidden('text')).optional(),
}

/**
 * `agent.yaml`, or the same as JSON: an agent that needs no plugin. Unknown keys are refused; an error names the
 * path.
 */
export const agentDefinition = z.strictObject({
  id: ownerId,
  ...about,
  agent: section,
  /** Rights of principals other than its owner and the operators. */
  acl: z
    .strictObject({
      roles: z.partialRecord(z.enum(roles), permissions).default({}),
      principals: z.record(z.string().min(1).max(64), permissions).default({}),
    })
    .superRefine(refuseHidden('line'))
    .prefault({}),
  schedule: schedule.optional(),
})

/** A definition that was checked, with its defaults filled in. */
export type AgentDefinition = z.infer<typeof agentDefinition>

/** An agent that may run, in the text that does. */
export interface RunnableAgent {
  readonly definition: Omit<AgentDefinition, 'acl' | 'schedule'>
  readonly version: number
  readonly hash: string
  /** Full names of what it may use that destroys or goes out. */
  readonly granted: readonly string[]
}

/** An agent that lives for one request: its session deletes itself `keepMs` after it began. */
export interface OnDemandAgent extends RunnableAgent {
  readonly keepMs: number
}
