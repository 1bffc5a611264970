import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import type { AgentResult } from '#contracts/agent.ts'
import type { ContextFitter } from '#runtime/kernel/types/context.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { SessionEvent } from '#contracts/event.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { JsonObject } from '#contracts/json.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import type { Limits } from '#contracts/lease.ts'
import type { MemoryClient } from '#features/plugins/types/memory.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelProvider } from '#contracts/model.ts'
import type { Planner, Reflector, ToolExecutor } from '#runtime/kernel/types/plan.ts'
import type { PromptStore } from '#features/memory/types.ts'
import type { Sources } from '#contracts/sources.ts'
import type { SchemaValidator, Tool, ToolEntry } from '#contracts/tool.ts'
import { createConversation, type EmbeddedConversation } from './agent-context.ts'
import { checkAgentOptions, reportingTool } from './agent-options.ts'
import { createInputValidator, createSchemaValidator } from '#runtime/catalog/schema-validator.ts'
import { openPolicy } from '#features/access/open-policy.ts'
import { parallelExecutor } from '#runtime/kernel/compose.ts'
import { createFinishReflector, modelPlanner } from '#features/agents/model-planner.ts'
import { createKernel } from '#runtime/kernel/run.ts'
import { systemSources } from '#compose/sources.ts'

/** Parameterized SQL on a database that was granted (I20). */
interface DatabaseClient {
  readonly query: (
    sql: string,
    params: readonly (string | number | null)[],
  ) => Promise<readonly JsonObject[]>
}

/** The options of an agent in a host's own process (I5). Only the first four are needed. */
export interface AgentOptions {
  /** Immutable slug or UUID. */
  readonly id: string
  readonly taskPrompt: string
  readonly tools: readonly Tool[]
  /**
   * In priority order; the first that can serve the model is taken. Where it has `contextOf`, a conversation that
   * outgrows what the model takes is compacted, and the agent gets a tool that opens what left (`isola__read_output`).
   */
  readonly modelProviders: readonly ModelProvider[]
  readonly name?: string
  /** Markdown. */
  readonly description?: string
  readonly model?: string
  /** Turns of one run; 10 unless set. */
  readonly maxSteps?: number
  readonly limits?: Partial<Limits>
  /** Refused for now, like the two below it: nothing here would use them. A tool of yours may hold its own. */
  readonly memoryClient?: MemoryClient
  readonly databaseClient?: DatabaseClient
  readonly promptStore?: PromptStore
  readonly planner?: Planner
  readonly executor?: ToolExecutor
  readonly reflector?: Reflector
  readonly validator?: SchemaValidator
  readonly sources?: Sources
}

/** One conversation in memory; its runs see the earlier messages. */
export interface AgentSession {
  readonly id: string
  readonly messages: readonly Message[]
}

/** The events that a host can listen to (I11). A listener that throws ends the run. */
export interface AgentListeners {
  /** After each turn. */
  readonly step: (turn: TurnRecord) => void
  /** After each tool call. */
  readonly tool: (event: SessionEvent<'tool_finished'>) => void
  /** An error of a tool, or of a run without a code: the model and the result have no trace of it. */
  readonly fault: (error: unknown) => void
}

export type { AgentResult, Message, ModelProvider, SessionEvent, Tool, TurnRecord }

const timeoutMs = 60_000
const maxOutputChars = 64_000

/**
 * The same loop, gates and leases as in a deployment, embedded: it stores nothing, and reaches only the given tools
 * and models. Importable as `isola/agent`.
 *
 * A run ends with one `AgentResult`, also if it failed, was stopped or ran into a limit. Throws `config_invalid` for
 * options that are wrong or would have no effect, `model_not_configured` if no provider serves the model,
 * `request_not_found` for a session of another agent, and `request_conflict` if a tool would have to wait.
 *
 * @example await new Agent({ id, taskPrompt, tools, modelProviders }).run()
 */
export class Agent {
  readonly id: string
  readonly #options: AgentOptions
  readonly #sources: Sources
  readonly #running = new Map<string, AbortController>()
  /** A session lasts as long as its host holds it. */
  readonly #sessions = new WeakMap<AgentSession, EmbeddedConversation>()
  readonly #listeners: { [K in keyof AgentListeners]: AgentListeners[K][] } = {
    step: [],
    tool: [],
    fault: [],
  }

  constructor(options: AgentOptions) {
    checkAgentOptions(options)
    this.id = options.id
    this.#options = options
    this.#sources = options.sources ?? systemSources
  }

  createSession(): AgentSession {
    const id = this.#sources.ids.next('ses')
    const conversation = createConversation(this.#sources)
    const session = { id, messages: conversation.messages }
    this.#sessions.set(session, conversation)
    return session
  }

  /** Works on the agent's own task prompt, or on `task` within a session. */
  async run(task = 'Begin.', session: AgentSession = this.createSession()): Promise<AgentResult> {
    const conversation = this.#sessions.get(session)
    if (!conversation) throw new IsolaError('request_not_found', 'This agent has no such session.')
    const turns = new Map<number, TurnRecord>()
    const controller = new AbortController()
    // Where it throws, nothing has been said.
    const models = firstServing(this.#options)
    const { context, tools } = conversation.fit(models)
    const kernel = this.#createKernel(models, context)
    const run = this.#sources.ids.next('run')
    conversation.messages.push({ role: 'user', text: task, taint: ['user'] })
    this.#running.set(run, controller)
    let seq = 0
    let reported = 0
    try {
      const outcome = await kernel.run(this.#input(run, session.id, conversation, tools), {
        signal: controller.signal,
        nextSeq: () => (seq += 1),
        onSent: () => {},
        onDelta: () => {},
        journal: {
          load: () => [...turns.values()],
          write: (turn) => void turns.set(turn.turn, turn),
          sync: async () => {},
        },
        onWritten: (turn) => {
          const fresh = turn.events.filter((event) => event.seq > reported)
          reported = turn.events.at(-1)?.seq ?? reported
          for (const event of fresh) {
            if (event.type === 'tool_finished') this.#listeners.tool.forEach((hear) => hear(event))
            const detail = event.type === 'run_finished' && event.data.detail
            if (detail) this.#listeners.fault.forEach((hear) => hear(new Error(detail)))
          }
          if (turn.isDone) this.#listeners.step.forEach((hear) => hear(turn))
        },
      })
      if (outcome.state !== 'parked') return outcome
      throw new IsolaError('request_conflict', 'An embedded run has nobody to wait for.')
    } finally {
      this.#running.delete(run)
      conversation.add([...turns.values()])
    }
  }

  /** A run in a session of its own, which is forgotten. */
  runOnce(task?: string): Promise<AgentResult> {
    return this.run(task)
  }

  /**
   * Cancels whatever is running; each run still ends with one result. A model call ends when its provider heeds the
   * signal.
   */
  stop(reason = 'The agent was stopped.'): void {
    for (const controller of this.#running.values()) controller.abort(new Error(reason))
  }

  /** @returns A function that stops listening. */
  on<K extends keyof AgentListeners>(event: K, listener: AgentListeners[K]): () => void {
    const listeners: AgentListeners[K][] | undefined = this.#listeners[event]
    if (!listeners) {
      const known = Object.keys(this.#listeners).join(', ')
      throw new IsolaError('config_invalid', `event: must be one of ${known}.`, { param: 'event' })
    }
    listeners.push(listener)
    return () => {
      const at = listeners.indexOf(listener)
      if (at >= 0) listeners.splice(at, 1)
    }
  }

  #createKernel(models: ModelProvider, context?: ContextFitter) {
    const {
      planner = modelPlanner,
      executor = parallelExecutor,
      validator = createSchemaValidator(),
      reflector = createFinishReflector(validator),
    } = this.#options
    return createKernel({
      ...this.#sources,
      planner,
      executor,
      reflector,
      models,
      ...defined({ context }),
      gates: {
        ...openPolicy,
        validator: createInputValidator(validator),
        outputs: {
          maxChars: maxOutputChars,
          keep: async (_subject, json) => ({
            chars: json.length,
            head: headOf(json, maxOutputChars),
          }),
        },
      },
    })
  }

  #input(
    run: string,
    session: string,
    { messages, compactions, isLeftOver }: EmbeddedConversation,
    more: readonly ToolEntry[],
  ) {
    const {
      id,
      name = id,
      description = '',
      taskPrompt,
      tools,
      model,
      maxSteps,
      limits,
    } = this.#options
    const hear = (error: unknown) => this.#listeners.fault.forEach((told) => told(error))
    const own = tools.map((tool) => ({
      tool: reportingTool(tool, hear),
      isReadOnly: false,
      isIdempotent: false,
      timeoutMs,
      definitionHash: this.#sources.sha256(
        JSON.stringify([tool.name, tool.description, tool.inputSchema]),
      ),
      record: {},
    }))
    const entries: readonly ToolEntry[] = [...own, ...more]
    return {
      run,
      session,
      rootSession: session,
      principal: 'host',
      trace: this.#sources.ids.traceId(),
      depth: 0,
      ancestry: [],
      messages: [...messages],
      compactions: [...compactions],
      isLeftOver,
      startedAtMs: this.#sources.clock.nowMs(),
      lostCalls: 0,
      options: {},
      agent: {
        id,
        name,
        description,
        instructions: taskPrompt,
        model,
        parameters: {},
        limits: {
          ...defaultAgentLimits,
          ...defined({ maxTurns: maxSteps }),
          ...defined(limits ?? {}),
        },
        provenance: { template: id, version: '1' },
      },
      toolset: {
        definitions: entries.map(({ tool: { name: tool, description: what, inputSchema } }) => ({
          name: tool,
          description: what,
          inputSchema,
        })),
        resolve: (tool: string, input: JsonObject) => {
          const entry = entries.find((candidate) => candidate.tool.name === tool)
          return entry && { entry, input }
        },
      },
    }
  }
}

function firstServing({ modelProviders, model }: AgentOptions): ModelProvider {
  const able = modelProviders.find((provider) => {
    try {
      provider.select(model)
      return true
    } catch {
      return false
    }
  })
  if (able) return able
  throw new IsolaError('model_not_configured', 'None of the model providers serves this agent.')
}
