"""The app of the pipeline tests: definitions of an observation, and what their handlers heard."""

import json

from rig import Seen

SERVER = "https://api.test"
AT = {"entry": "p", "pointer": ""}


class App:
    def __init__(self, client):
        self.client, self.heard = client, Seen()
        self.photo = self.define("photo", lambda: {"url": f"{SERVER}/photos", "data": {"a": 1}})
        self.observation = self.define("observation", lambda: {"url": f"{SERVER}/observations", "data": {}})
        self.attach = self.define("attach", self.attachment)

    @staticmethod
    def attachment(vars, bound):
        return {
            "url": f"{SERVER}/observations/{bound.observation}/photos",
            "headers": {"X-Photo": f"{bound.photo}"},
            "data": {"photo_id": bound.photo, "list": [bound["observation"]]},
        }

    def define(self, key, request):
        return self.client.define(
            key=key,
            request=request,
            on_success=lambda value, vars, meta: self.heard.add(meta["id"]),
            on_error=lambda error, vars, meta: self.heard.add(f"{meta['id']} {error['errorKind']}"),
        )

    def pipeline(self, **options):
        """A photo, then the observation, then what joins them."""
        pipeline = self.client.pipeline(group="g", **options)
        photo = pipeline.add(self.photo, id="p", weight=0.5)
        seen = pipeline.add(self.observation, id="o", after=[photo], lane="observations")
        both = {"observation": seen.pointer("/id"), "photo": photo.pointer("/id")}
        pipeline.add(self.attach, None, id="a", bind=both)
        return pipeline


def answer(value, **more):
    return {"response": {"body": json.dumps(value), **more}}
