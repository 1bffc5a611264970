import type { JsonSchema } from '#contracts/json.ts'
import type { OfferedTool } from './offered-tool.ts'

/** The input of every agent as a tool. */
export const agentInput: JsonSchema = {
  type: 'object',
  properties: {
    task: { type: 'string', minLength: 1, description: 'What is to be done, complete.' },
    session: {
      type: 'string',
      description: 'Goes on with an earlier conversation: the `session` that a call answered.',
    },
    background: {
      type: 'boolean',
      description: 'Answer the id of the run at once; isola__run_status has what came of it.',
    },
  },
  required: ['task'],
  additionalProperties: false,
}

/** A run as it stands. */
export const agentResult: JsonSchema = {
  type: 'object',
  properties: {
    session: { type: 'string' },
    run: { type: 'string' },
    state: {
      type: 'string',
      enum: ['queued', 'running', 'parked', 'completed', 'stopped', 'failed', 'cancelled'],
    },
    result: { type: 'string' },
    output: { type: 'object' },
    error: { type: 'object' },
    waits_for: { type: 'array', items: { type: 'object' } },
  },
  required: ['session', 'run', 'state'],
}

const runInput: JsonSchema = {
  type: 'object',
  properties: {
    session: { type: 'string', description: 'The session of the run.' },
    run: { type: 'string', description: 'The id of the run.' },
  },
  required: ['session', 'run'],
  additionalProperties: false,
}

const runTool = (
  kind: 'run_status' | 'run_cancel',
  description: string,
  annotations: OfferedTool['annotations'],
): OfferedTool => ({
  kind,
  target: kind,
  name: `isola__${kind}`,
  description,
  inputSchema: runInput,
  annotations,
})

/**
 * The tools for work that takes longer than one answer. Only for the caller's own runs; an unknown run and another
 * principal's run look alike.
 */
export const runTools: readonly OfferedTool[] = [
  runTool('run_status', 'How a run stands, and what came of it when it is over.', {
    readOnlyHint: true,
    idempotentHint: true,
  }),
  runTool('run_cancel', 'Ends a run that is not over.', {
    readOnlyHint: false,
    idempotentHint: true,
    destructiveHint: false,
  }),
]
