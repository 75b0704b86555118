'use strict';

const { checkTogether } = require('./mutation.js');
const { checkArgument, invalid, text } = require('./shapes.js');

/** One request of a pipeline; it stands for the entry that it will be. */
class Step {
  #id;

  constructor(id) {
    this.#id = id;
  }

  get id() {
    return this.#id;
  }

  pointer(pointer) {
    if (typeof pointer !== 'string') throw invalid('pointer', 'must be a string');
    return { entry: this.#id, pointer };
  }

  header(name) {
    checkArgument('header', text, name, 'name');
    return { entry: this.#id, header: name };
  }
}

/** Collects requests that go into the queue together. index.d.ts documents it. */
class Pipeline {
  #defaults;
  #ports;
  /** The params of each step's enqueue. */
  #made = new Map();
  #isEnqueued = false;

  /**
   * @param {object} defaults for each step
   * @param {object} ports
   * @param {(definition: object, vars: unknown, options: object) => {id: string}} ports.make makes what
   *   `send` wants of a step
   * @param {(made: {id: string}[]) => Promise<object[]>} ports.send enqueues all; one answer for each
   */
  constructor(defaults = {}, ports) {
    checkTogether('pipeline', defaults);
    this.#defaults = withoutUndefined(defaults);
    this.#ports = ports;
  }

  get steps() {
    return [...this.#made.keys()];
  }

  add(definition, vars, options = {}) {
    if (this.#isEnqueued) throw invalid('', 'pipeline.add: the pipeline is enqueued, begin another one');
    const isObject = options !== null && typeof options === 'object';
    const given = isObject ? { ...this.#defaults, ...withoutUndefined(options) } : options;
    const made = this.#ports.make(definition, vars, given);
    if ([...this.#made.values()].some(({ id }) => id === made.id)) {
      throw invalid('id', `is that of another step: ${made.id}`);
    }
    const step = new Step(made.id);
    this.#made.set(step, made);
    return step;
  }

  async enqueue() {
    if (this.#made.size === 0) throw invalid('', 'pipeline.enqueue: there is no step');
    this.#isEnqueued = true;
    const steps = this.steps;
    const accepted = await this.#ports.send([...this.#made.values()]);
    return new Map(steps.map((step, index) => [step, accepted[index]]));
  }
}

/** A member that is undefined counts as absent: the default holds. */
function withoutUndefined(members) {
  return Object.fromEntries(Object.entries(members).filter(([, each]) => each !== undefined));
}

module.exports = { Pipeline };
