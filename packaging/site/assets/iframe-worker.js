// Browsers start no worker for a page that is opened from a file. The search of the site needs one: here,
// its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.frame = frame;
      this.inside = frame.contentWindow;
      const load = (source) =>
        new Promise((resolve, reject) => {
          const script = this.inside.document.createElement("script");
          script.src = source;
          script.onload = resolve;
          script.onerror = () => reject(new Error(`cannot load ${source}`));
          this.inside.document.body.append(script);
        });
      this.inside.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = load(String(url));
      this.ready.catch((error) => this.dispatchEvent(new ErrorEvent("error", { error, message: error.message })));
    }

    postMessage(data) {
      this.ready.then(
        () => this.inside.dispatchEvent(new MessageEvent("message", { data })),
        () => {},
      );
    }

    terminate() {
      this.frame.remove();
    }
  };
}
