import type { Generated } from './generated.mjs'

/** A fault of a skill, with file and field. */
export declare class SkillError extends Error {}
/** The asset's text for the skills under `base`. Throws `SkillError`. */
export declare function bundleSkills(base: string): string
export declare const skills: Generated
